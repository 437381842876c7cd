/// Defines an enum and the names of its variants: its `ALL` and its names are made of the one list.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    (
        $(#[$enum_meta:meta])*
        $enum_vis:vis enum $enum:ident {
            $($(#[$meta:meta])* $variant:ident => $name:literal,)*
        }

        $(#[$all_meta:meta])*
        $all_vis:vis const ALL;

        $(#[$name_meta:meta])*
        $name_vis:vis fn $get_name:ident;
    ) => {
        $(#[$enum_meta])*
        $enum_vis enum $enum {
            $($(#[$meta])* $variant,)*
        }

        impl $enum {
            $(#[$all_meta])*
            $all_vis const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            $(#[$name_meta])*
            #[must_use]
            $name_vis fn $get_name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}
#[doc(hidden)]
pub use named;
