"""Where the terms of formulas are kept: pySMT's environment, which whatever builds formulas is given.

Terms of two environments never meet in one formula. An environment is not made for several threads.
"""

import threading

from pysmt.environment import Environment, get_env

_OF_THREAD = threading.local()


def default_environment() -> Environment:
    """Return the environment of formulas for which none is given.

    It is pySMT's current one on the main thread, so that formulas of pySMT's own functions can be used, and another
    one on each other thread.
    """
    if threading.current_thread() is threading.main_thread():
        return get_env()
    if not hasattr(_OF_THREAD, "environment"):
        _OF_THREAD.environment = Environment()
    return _OF_THREAD.environment
