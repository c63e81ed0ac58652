"""Tests that act as a person does in a browser, in headless Chromium: `make browser`."""
