"""A page on which one types operands and sees what units do to each bit of them.

``session`` answers what the page asks: it parses operands (``numbers``), runs the integer interpretation and returns
the picture as HTML. In the page it runs in Pyodide, which is Python in the browser, so the semantics is not written
again, and nothing is sent anywhere. ``build`` makes a folder of static files of all that; ``page/`` holds the page
and ``data/`` its examples.
"""
