// The devices and colour schemes that pages are looked at in. The whole check has each device and each scheme once; FORM=long has all four.

const all = [
  { device: "desktop", colorScheme: "light" },
  { device: "phone", colorScheme: "dark" },
  { device: "desktop", colorScheme: "dark" },
  { device: "phone", colorScheme: "light" },
];

/** Whether FORM=long asks for the walks that take longer than the whole check has time for. */
export const longForm = process.env.FORM === "long";

export const looks = longForm ? all : all.slice(0, 2);
