"""`mmaproof rtl`: user RTL, run, checked and proved equal to a design."""
