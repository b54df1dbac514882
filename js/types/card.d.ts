/** What the build makes the value of the bundle. */
declare let card: boolean;
