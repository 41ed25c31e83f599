"""Parts of pages: what pages of several rooms show, such as times, badges, reasons, record names."""
