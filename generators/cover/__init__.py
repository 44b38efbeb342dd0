"""Coverage: the events of a datapath, vectors that cross them, and the proof of what none crosses."""
