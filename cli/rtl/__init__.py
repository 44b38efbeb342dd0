"""`mmaproof rtl`: somebody's RTL, run, checked and proved equal to a design."""
