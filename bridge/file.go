package bridge

import (
	"cmp"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/policy"
)

// File is a file that a page saved in a call, or why its caller does not get it.
type File struct {
	// ID names it to its caller, until FileAge after the call; the bridge sets it.
	ID string `json:"id,omitempty"`
	// Name is the page's, on one line, of at most 255 bytes. It is no part of any path.
	Name string `json:"name"`
	// Type is the media type that goes with the name, where it is one of a few harmless ones and
	// the content is not another's; else it is application/octet-stream.
	Type string `json:"type,omitempty"`
	// Bytes says how many there are, and SHA256 their digest in hex.
	Bytes  int64  `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// State says why there is no content; "" means that there is.
	State FileState `json:"state,omitempty"`
	// Data is the content. What the bridge returns with a call has none: see Bridge.File.
	Data []byte `json:"-"`

	marks *policy.Results // the rules by which its text is enclosed; nil: it is not
}

// FileState says why a caller does not get a file.
type FileState string

// The states of files that a caller does not get.
const (
	FileTooLarge   FileState = "too_large"  // than a file may be, or than there is room for
	FileUnfinished FileState = "unfinished" // it did not come, or not in time
	FileDenied     FileState = "denied"     // the call has as many as it gets
)

// FileRoom says which files a call may have.
type FileRoom struct {
	Most     int   // how many
	MaxBytes int64 // of each
	// Take makes room for a file of so many bytes, and reports false when there is none. Nil means
	// that no files are wanted. A File with so many bytes of Data in the call's step has the room
	// then, until Give.
	Take func(bytes int64) bool
	// Give gives back what Take took.
	Give func(bytes int64)
}

// FileAge sets how long a file is kept for its caller.
const FileAge = 15 * time.Minute

// fileOverhead is the cost of a file besides its bytes. It counts for the process, and not for the
// caller.
const fileOverhead = 1 << 10

// files keeps what pages saved in calls, in memory, for those who called.
type files struct {
	accounts *policy.Accounts // by caller
	above    *policy.Account

	mu      sync.Mutex
	all     map[string]*keptFile
	numbers int64
}

// keptFile is a file with what decides who gets it.
type keptFile struct {
	File

	number int64 // in the order of time
	site   string
	caller Caller
	forget *time.Timer
}

func newFiles(most int64, above *policy.Account) files {
	return files{accounts: policy.NewAccounts(most, above), above: above, all: map[string]*keptFile{}}
}

// room returns the room for the files of a call.
func (fs *files) room(caller string, l *Limits) FileRoom {
	return FileRoom{Most: l.Files, MaxBytes: l.FileBytes,
		Take: func(n int64) bool { return fs.take(caller, n) }, Give: func(n int64) { fs.give(caller, n) }}
}

// take makes room for a file of so many bytes, and give gives it back.
func (fs *files) take(caller string, n int64) bool {
	if !fs.accounts.Charge(caller, n) {
		return false
	}
	if !fs.above.Take(fileOverhead) {
		fs.accounts.Charge(caller, -n)
		return false
	}
	return true
}

func (fs *files) give(caller string, n int64) {
	fs.accounts.Charge(caller, -n)
	fs.above.Give(fileOverhead)
}

// keep keeps the files of a call, and returns them as its caller gets them, without their content.
func (fs *files) keep(r *Run, saved []File) (told []File) {
	rules, caller := &r.pass.site.options.Results, r.pass.call.Caller
	for _, f := range saved {
		f.Name = rules.Text(f.Name)
		if f.State == "" {
			f = fs.keepOne(r, f, rules)
			logCall(r.pass.bridge.life, slog.LevelInfo, "call: file", r, slog.Int64("bytes", f.Bytes), slog.String("sha256", f.SHA256))
		}
		f.Data, f.marks = nil, nil
		told = append(told, f)
	}
	if caller.IsRevoked() {
		fs.drop(func(k *keptFile) bool { return k.caller.IsRevoked() })
	}
	return told
}

func (fs *files) keepOne(r *Run, f File, rules *policy.Results) File {
	before := int64(len(f.Data))
	f.Type = fileType(f.Name, f.Data)
	if isText(f.Type) && len(rules.Redact) > 0 {
		f.Data = []byte(rules.Text(string(f.Data)))
	}
	if rules.Marks(r.pass.tool.hints) {
		f.marks = rules
	}
	f.ID, f.Bytes, f.SHA256 = r.pass.bridge.pipe.names.name(), int64(len(f.Data)), digestOf(f.Data)
	if !fs.accounts.Charge(r.pass.call.Caller.Name, f.Bytes-before) {
		fs.give(r.pass.call.Caller.Name, before)
		return File{Name: f.Name, State: FileTooLarge}
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.numbers++
	id := f.ID
	fs.all[id] = &keptFile{File: f, number: fs.numbers, site: r.pass.call.Site, caller: r.pass.call.Caller,
		forget: time.AfterFunc(FileAge, func() { fs.drop(func(k *keptFile) bool { return k.ID == id }) })}
	return f
}

// refuse gives back the room of files that nobody gets.
func (fs *files) refuse(caller string, saved []File) {
	for _, f := range saved {
		if f.State == "" {
			fs.give(caller, int64(len(f.Data)))
		}
	}
}

// drop forgets files.
func (fs *files) drop(which func(*keptFile) bool) {
	fs.mu.Lock()
	var gone []*keptFile
	for id, k := range fs.all {
		if which(k) {
			k.forget.Stop()
			delete(fs.all, id)
			gone = append(gone, k)
		}
	}
	fs.mu.Unlock()
	for _, k := range gone {
		fs.give(k.caller.Name, k.Bytes)
	}
}

// gets reports whether a caller gets the file.
func (k *keptFile) gets(c Caller) bool {
	return k != nil && k.caller.Name == c.Name && c.Can(MayCall) && c.Sees(k.site) && !k.caller.IsRevoked()
}

// File returns a file that a page saved in a call of the caller, with its content. It is false for
// every other id.
func (b *Bridge) File(c Caller, id string) (File, bool) {
	b.files.mu.Lock()
	defer b.files.mu.Unlock()
	k := b.files.all[id]
	if !k.gets(c) {
		return File{}, false
	}
	return k.File, true
}

// maxListed bounds the files of a list: the newest ones.
const maxListed = 1000

// Files lists the files that pages saved in calls of the caller on one site, or on all when site is
// empty: the newest 1,000, the newest last.
func (b *Bridge) Files(c Caller, site string) []File {
	b.files.mu.Lock()
	defer b.files.mu.Unlock()
	var found []*keptFile
	for _, k := range b.files.all {
		if k.gets(c) && (site == "" || k.site == site) {
			found = append(found, k)
		}
	}
	slices.SortFunc(found, func(a, b *keptFile) int { return cmp.Compare(a.number, b.number) })
	found = found[max(0, len(found)-maxListed):]
	all := make([]File, len(found))
	for i, k := range found {
		all[i] = k.File
	}
	return all
}

// FileBytes returns how many bytes of files are kept now, and how many files.
func (b *Bridge) FileBytes() (bytes int64, count int) {
	b.files.mu.Lock()
	defer b.files.mu.Unlock()
	for _, k := range b.files.all {
		bytes += k.Bytes
	}
	return bytes, len(b.files.all)
}

// Text returns the content of a file of a text type, in the operator's marks where its tool
// declares that it is not to be trusted. ok is false for all others.
func (f *File) Text() (words string, ok bool) {
	if !isText(f.Type) || !utf8.Valid(f.Data) {
		return "", false
	}
	if f.marks != nil {
		return f.marks.Enclose(string(f.Data), 0, nonce(true)), true
	}
	return string(f.Data), true
}

// OctetStream is the type of files of which nothing more is said.
const OctetStream = "application/octet-stream"

// fileTypes are the types of files, by the ends of their names. Nothing runs what is of them, and
// the files of office programs with macros have other ends.
var fileTypes = map[string]string{
	".txt": "text/plain", ".log": "text/plain", ".csv": "text/csv", ".tsv": "text/tab-separated-values", ".md": "text/markdown",
	".ics": "text/calendar", ".vcf": "text/vcard", ".json": "application/json", ".pdf": "application/pdf", ".zip": "application/zip",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}

// fileType returns the type that goes with a name, unless the content is of another kind.
func fileType(name string, data []byte) string {
	kind, known := fileTypes[strings.ToLower(path.Ext(name))]
	switch {
	case !known:
		return OctetStream
	case isText(kind):
		if !utf8.Valid(data) || strings.ContainsRune(string(data[:min(len(data), 1<<10)]), 0) || isMarkup(data) {
			return OctetStream
		}
	case strings.HasPrefix(kind, "image/"), strings.HasPrefix(kind, "audio/"):
		if sniffed(data) != kind {
			return OctetStream
		}
	case kind == "application/pdf":
		if !strings.HasPrefix(string(data[:min(len(data), 8)]), "%PDF-") {
			return OctetStream
		}
	case !strings.HasPrefix(string(data[:min(len(data), 2)]), "PK"): // an archive, and what is made of one
		return OctetStream
	}
	return kind
}

// isText reports whether people and models read files of the type as they are.
func isText(kind string) bool { return strings.HasPrefix(kind, "text/") || kind == "application/json" }

// isMarkup reports whether content begins as a document that a browser might run: with a tag, a
// comment or a declaration.
func isMarkup(data []byte) bool {
	rest := strings.TrimLeft(strings.TrimPrefix(string(data[:min(len(data), 1<<10)]), "\uFEFF"), " \t\r\n\f")
	return len(rest) > 1 && rest[0] == '<' && (rest[1] == '!' || rest[1] == '?' || rest[1]|0x20 >= 'a' && rest[1]|0x20 <= 'z')
}
