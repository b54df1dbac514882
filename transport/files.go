package transport

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/pagetools/pagetools/bridge"
)

// FileBody is the public form of a file that a page saved in a call: {"id","name","type","bytes",
// "sha256","url"}, or {"name","state"} of one that the caller does not get.
type FileBody struct {
	ID     string           `json:"id,omitempty"`
	Name   string           `json:"name"`
	State  bridge.FileState `json:"state,omitempty"`
	Type   string           `json:"type,omitempty"`
	Bytes  *int64           `json:"bytes,omitempty"`
	SHA256 string           `json:"sha256,omitempty"`
	URL    string           `json:"url,omitempty"`
}

// FilesOf returns the public form of the files of a call, with addresses that begin as [Base] says.
func FilesOf(r *http.Request, all []bridge.File) []FileBody {
	bodies := make([]FileBody, len(all))
	for i, f := range all {
		bodies[i] = FileBody{ID: f.ID, Name: f.Name, State: f.State, Type: f.Type, SHA256: f.SHA256}
		if f.State == "" {
			bodies[i].Bytes, bodies[i].URL = &all[i].Bytes, Base(r)+"/files/"+url.PathEscape(f.ID)
		}
	}
	return bodies
}

// Base returns the address that links of a reply begin with, up to the host: the public URL, where there is
// one, for who came through it or from elsewhere, and else that by which the request came.
func Base(r *http.Request) string {
	if in := infoOf(r.Context()); in != nil && in.public != "" && !IsLocal(r) {
		return in.public
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// DetailFiles is the detail with the files of a call that failed.
const DetailFiles = "files"

// WithFiles returns the error of a call with its files in the details.
func WithFiles(r *http.Request, end bridge.Step) *bridge.Error {
	if end.Err == nil || len(end.Files) == 0 {
		return end.Err
	}
	return end.Err.Detail(DetailFiles, FilesOf(r, end.Files))
}

// LinkFiles names the files of a call in the header, for replies that are nothing but data (RFC
// 8288, the relation enclosure).
func LinkFiles(w http.ResponseWriter, r *http.Request, all []bridge.File) {
	for i, f := range FilesOf(r, all) {
		if f.State == "" {
			w.Header().Add("Link", "<"+f.URL+`>; rel="enclosure"; type="`+f.Type+`"; title*=UTF-8''`+
				url.PathEscape(f.Name)+`; length=`+strconv.FormatInt(all[i].Bytes, 10))
		}
	}
}

// FileRoute is the route by which callers get the files of their calls.
func FileRoute(b *bridge.Bridge) Route {
	return Get("/files/{id}", func(w http.ResponseWriter, r *http.Request) { ServeFile(b, w, r, CallerOf(r.Context())) })
}

// ServeFile answers with the file that {id} of the path names, of a call of that caller.
func ServeFile(b *bridge.Bridge, w http.ResponseWriter, r *http.Request, caller bridge.Caller) {
	if e := b.Count(bridge.Ref{Caller: caller}); e != nil {
		WriteError(w, r, e)
		return
	}
	f, ok := b.File(caller, r.PathValue("id"))
	if !ok {
		WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"There is no such file. A file is for whoever made its call, for 15 minutes."))
		return
	}
	writeFile(w, f)
}

// writeFile writes a stranger's bytes so that no browser shows or runs them as a page of ours.
func writeFile(w http.ResponseWriter, f bridge.File) {
	h := w.Header()
	h.Set("Content-Type", f.Type)
	h.Set("Content-Length", strconv.Itoa(len(f.Data)))
	h.Set("Content-Disposition", disposition(f.Name))
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h["X-Content-Type-Options"] = nosniff
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(f.Data) // a client that is gone needs nothing; the server drops the body of a HEAD itself
}

// disposition says that a file is to be saved, under the page's name for it.
func disposition(name string) string {
	if name == "" {
		return "attachment"
	}
	if said := mime.FormatMediaType("attachment", map[string]string{"filename": name}); said != "" {
		return said
	}
	return "attachment"
}
