"""Plans as programs: the schedule of a plan runs over any arithmetic."""
