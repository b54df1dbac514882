// Package shim is the Go half of the conversation with js/src/shim: the script that is put into
// pages, the expressions that reach it, and the decoders of what it says.
//
// # The way in
//
// Source(name) is evaluated in the main world of every document before any script of the page. It
// declares one constant in the global lexical scope, named by NewName: Runtime.evaluate reaches it,
// page reflection does not, and no function that a page can get contains the name. Every other
// function here that takes a name returns an expression for Runtime.evaluate with awaitPromise and
// returnByValue. All of them are strict code, so that no stack frame shows its function (and the
// name) to a page's Error.prepareStackTrace.
//
//	Watch       a state text, as soon as the registry's revision is above rev; "" when a later Watch took its place.
//	            Watch(name, -1, room) answers at once.
//	Call        a reply text. Its promise is never rejected; it can stay pending as long as the tool does.
//	Wait        the next reply text of a call whose last one was of kind asking or parts.
//	Answer      "true" when the call waited for an answer.
//	Remind      "true" when the call waits for a person in an interaction; then its next reply is of kind asking.
//	Abort       true when there was such a call, once its iterator has closed. Its reply, kind aborted, comes before the tool hears of it.
//	Shutdown    how many calls were aborted.
//	Outcome     how a call of another owner ended; see Epochs.
//
// SourceAttended is Source for a page that a person can be at.
//
// # State text
//
//	{"rev":N,"doc":{"url","title","origin","lang","status"?,"icon"?},"tools":[TOOL...],"refused":[{"name","rule","message"}...],
//	 "dropped":N,"short"?:N,"problems"?:[{"kind","name"?,"message","at"?,"adapter"?:N}...],"more"?:true}
//
// TOOL is
// {"id":N,"name","via","adapter"?:N,"description","title"?,"inputSchema"?,"outputSchema"?,"annotations"?:{...}}.
// Schemas are strings that hold JSON text. Ids are positive, unique in a document and new for every
// registration; tools come in the order of registration, script tools before forms, forms before
// those of the manifest. "via" is registerTool, provideContext, form or manifest. Annotations hold
// only the known hints, as booleans, and "title"; a form that submits itself has "autosubmit".
// "adapter" is the Index of the adapter that registered it: AdapterRunner and AdapterSource put the
// operator's scripts into pages. What they register comes last, and gives way to the page's.
//
// The page sends at most 256 tools and 8 MiB of them and counts the rest in "dropped". Of those it
// sends what there is room for, in a reply 1 MiB, and counts the rest in "short". What is too
// large to be sent is in "refused" (at most 64), by rule: title-too-long, description-too-long,
// schema-too-large; so are bad entries of a manifest, by rule invalid-manifest-entry.
//
// "status" is the HTTP status. "problems" are the faults of the document, each once, in their
// order: of kind error (nobody caught it), rejection (nobody handled it), console (console.error),
// registration (a tool was refused) or adapter (an adapter threw, or its tool gave way). At most 32
// of 512 characters, 32 KiB in all; "more" says that there were others. They make revisions, too.
//
// # Reply text
//
//	HEADER "\n" PAYLOAD STATE
//
// HEADER is one line of JSON:
//
//	{"k":KIND,"rev":N,"ran":BOOL,"len":N,"state":N,"name"?:TEXT,"message"?:TEXT}
//
// "len" and "state" are the lengths of PAYLOAD and STATE in bytes of UTF-8; nothing follows them.
// "rev" is the registry's revision at that moment. STATE is a state text when that is above the
// revision that the caller knew, else it is empty. "ran" is whether code of the page may have run
// because of the call. KIND:
//
//	ok         PAYLOAD is the result as JSON; it is empty for every other kind
//	error      the tool threw: name and message of what it threw, at most 128 and 16384 characters, never a stack trace
//	aborted    Abort or Shutdown ended the call; message is the reason
//	gone       no tool is registered under the id; after Wait, nothing is known of the call. With the name epoch, the page has
//	           another owner
//	invalid    the result has no JSON; message names the path: "result.items[2].owner: circular reference"
//	too_large  the result's JSON would be longer than maxBytes
//	unhandled  the tool has no execute function and no toolcall listener answered
//	submitted  a form was submitted plainly, and what the page says is in the document that comes; message is the form's target
//	awaiting   a form is filled in, and waits for a person to submit it
//	unsure     a form was submitted, and the page does not say what came of it; message says why
//	handled    a script of the page took the submit, without respondWith; Page says what came of it
//	unsubmitted  a form was not submitted, as its fields are wrong or a person said no; message is why
//	asking     the call waits for a person, and goes on: it is not an end. name is interaction
//	           (requestUserInteraction, pending for 100 ms) or form (filled in; an answer submits it)
//	parts      the result arrives in parts, and the call goes on
//
// A reply of any kind has "parts":N and "last":JSON when parts of the result came that no reply has
// told: how many there are, and the last one, or a string with its beginning. It has "saves":N when
// scripts of the document clicked so many links with a download attribute since the call began, and
// "far":N of them to something of a server, where SavesSource's script is: what they save may begin
// later than the call ends.
//
// # Epochs
//
// A page that outlives the process that used it has owners, one after another, each with an epoch above
// the one before. As puts the epoch of its owner before every expression, and Own into every new
// document. The page remembers the highest that it saw. To an owner of a lower one Call and Wait answer
// with a reply of kind gone and name epoch, Watch with "", Answer, Remind, Abort, Shutdown, Fault and Outcome
// with "gone"; nothing happens, and a call that this owner began goes on. So gone says that nothing ran to
// Call alone.
//
// Outcome asks how a call ended that another owner began. The page keeps the last 64 ends, of 256 Ki UTF-16
// units in all, once it has an owner with an epoch. A page without epochs keeps none, and its expressions
// are as ever.
//
// # Results
//
// undefined, NaN and infinities are null; a bigint is a decimal string; a Map is a list of entries,
// a Set a list of values, an Error {name, message}, a typed array or ArrayBuffer a list of numbers;
// what JSON.rawJSON made is verbatim; toJSON counts unless it is inherited from Object.prototype or
// Array.prototype; members that are undefined are left out. Functions, symbols, cycles and more
// than 200 levels are invalid.
//
// A Blob, File, canvas, img, ImageBitmap or ImageData is an MCP content block in its place:
// {"type":"image"|"audio","mimeType", "data"}, or
// {"type":"resource","resource":{"uri","mimeType","blob"}} for other types. A result that is one of
// them, or a list of nothing else, is {"content":[...]}. Pictures become PNG. One that the browser
// does not let the page read is invalid.
//
// testdata/wire has examples that the tests of both halves read: replies.json is written by the
// JavaScript tests (UPDATE=1 node --test js/test), expressions.json by the Go tests (go test ./shim
// -update).
package shim
