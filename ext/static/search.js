// From a folder a browser lets no script read other pages: results come without an extract.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
