#!/usr/bin/env python
"""manage.py: the example site's commands."""

from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    try:
        if sys.argv[1:2] == ["demo"]:
            # The demo's folder and port must be known before the settings are read.
            from example_project import ground

            ground.choose(sys.argv[2:])
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # Only a demo has chosen any; one that ends before its command began would leave its folder behind.
        if "example_project.ground" in sys.modules:
            sys.modules["example_project.ground"].leave()


if __name__ == "__main__":
    main()
