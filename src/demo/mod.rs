//! A small Minecraft 1.8 (protocol 47) server and client, so that the proxy has something to show.
//!
//! Both speak through the library itself: a [`Leg`](crate::codec::Leg) frames, compresses and
//! encrypts, the embedded description of protocol 47 encodes and decodes each packet by its name.
//! What they send is the same for the same [`DemoOptions::seed`].

mod random;
mod world;
