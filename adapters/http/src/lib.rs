//! What the HTTP adapters share.
