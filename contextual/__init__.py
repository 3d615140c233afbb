"""The code that *From Token to Context* builds, chapter by chapter.

Import from the modules: ``from contextual.attention import attention``.
"""

__version__ = "0.1.0"
