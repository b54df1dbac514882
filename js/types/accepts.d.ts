/**
 * What src/accepts evaluates to: it says why the form of a tool does not take each of some inputs, '' where it does, and nothing
 * without the form. What a schema cannot say of a type, such as that a text is an email address, counts as said.
 */
declare let accepts: (name: string, inputs: any[]) => string[];
