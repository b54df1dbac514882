package cdp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/cdproto/webmcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// settings are the page config of a tab, as commands want it, and how pages of its browser
// look without any. A nil one changes nothing, and sends nothing.
type settings struct {
	*pageconfig.Config
	origin  string       // of the site, as the browser writes it
	headers *headers     // nil without any
	view    *chrome.View // nil leaves it to the browser
	// languages apply to a page whose config names none; empty leaves them to the browser.
	languages string
}

// newSettings returns the settings of a tab, nil when there are none. Errors are
// *bridge.Error.
func newSettings(b *instance, o session.TabOptions) (*settings, error) {
	if b.guest != nil && (o.Config != nil || o.Pass != nil) {
		return nil, configError("config: the browser is one that a person uses, in which nothing of a page is changed")
	}
	s := &settings{Config: &pageconfig.Config{}, view: b.view}
	if b.view != nil { // the flag alone has two readings: each kind makes another header of it
		s.languages = b.view.Languages
	}
	if o.Config == nil {
		if b.view == nil {
			return nil, nil // which changes nothing
		}
		return s, nil
	}
	if b.keepsProfile && o.Config.Storage() {
		return nil, configError("config: the browser's profile is the operator's, so that no cookies, stored items or permissions " +
			"can be put into it")
	}
	s.Config, s.origin, s.headers = o.Config, origin.Of(o.Origin), newHeaders(o.Config)
	return s, nil
}

func configError(message string) *bridge.Error {
	return bridge.Errorf(bridge.ConfigError, "", bridge.NotRun, "%s.", message)
}

// refusedSettings say what it means that the browser does not take a command of
// settings.
var refusedSettings = map[string]string{
	emulation.CommandSetTimezoneOverride: "config.timezone: the browser knows no such time zone",
	emulation.CommandSetLocaleOverride:   "config.locale: the browser knows no such locale",
}

// everywhere are the commands for what every script of the page has to see alike:
// those in workers and in frames of other sites, too.
func (s *settings) everywhere() (commands []wire.Command) {
	speaks := cmp.Or(chrome.LanguageList(s.Locale), s.languages)
	if s.UserAgent != "" || speaks != "" {
		// Without a user agent the browser keeps its own, with its client hints.
		commands = append(commands,
			wire.Command{Method: emulation.CommandSetUserAgentOverride,
				Params: emulation.SetUserAgentOverrideParams{
					UserAgent: s.UserAgent, AcceptLanguage: speaks, UserAgentMetadata: metadataOf(s.UserAgent)}})
	}
	if s.Locale != "" {
		commands = append(commands, wire.Command{Method: emulation.CommandSetLocaleOverride,
			Params: emulation.SetLocaleOverrideParams{Locale: s.Locale}})
	}
	if s.Timezone != "" {
		commands = append(commands, wire.Command{Method: emulation.CommandSetTimezoneOverride,
			Params: emulation.SetTimezoneOverrideParams{TimezoneID: s.Timezone}})
	}
	return commands
}

// frame are the commands for a frame of another site. It gets no headers, and no
// place.
func (s *settings) frame() []wire.Command {
	if s == nil {
		return nil
	}
	commands := s.everywhere()
	if s.ColorScheme != "" {
		commands = append(commands,
			wire.Command{Method: emulation.CommandSetEmulatedMedia,
				Params: emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
						Value: s.ColorScheme}}}})
	}
	return commands
}

// page are the commands for a page, or a window of it.
func (s *settings) page() []wire.Command {
	if s == nil {
		return nil
	}
	commands := s.frame()
	if v := s.viewport(); v != nil {
		width, height := int64(v.Width), int64(v.Height)
		commands = append(commands, wire.Command{Method: emulation.CommandSetDeviceMetricsOverride,
			Params: emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height,
				DeviceScaleFactor: cmp.Or(v.DeviceScaleFactor, 1), Mobile: v.Mobile,
				ScreenWidth: width, ScreenHeight: height}})
		if v.Mobile {
			commands = append(commands, wire.Command{Method: emulation.CommandSetTouchEmulationEnabled,
				Params: emulation.SetTouchEmulationEnabledParams{Enabled: true}})
		}
	}
	if g := s.Geolocation; g != nil {
		commands = append(commands,
			wire.Command{Method: emulation.CommandSetGeolocationOverride,
				Params: emulation.SetGeolocationOverrideParams{
					Latitude: &g.Latitude, Longitude: &g.Longitude, Accuracy: &g.Accuracy}})
	}
	return commands
}

// viewport is the size of the page; nil leaves it to the browser.
func (s *settings) viewport() *pageconfig.Viewport {
	if s.Viewport == nil && s.view != nil {
		return &pageconfig.Viewport{Width: s.view.Width, Height: s.view.Height}
	}
	return s.Viewport
}

// worker returns the commands for a worker, which reports workers that it starts itself,
// too. Its requests wait for us at the frame that started it.
func (s *settings) worker() []wire.Command {
	if s == nil {
		return nil
	}
	if s.IsZero() {
		return s.everywhere() // those that it starts itself are as the browser's flags have them
	}
	return append(s.everywhere(),
		wire.Command{Method: cdptarget.CommandSetAutoAttach, Params: wire.AutoAttach("worker")})
}

// furnish puts into a new browser context what the first document finds there.
func (s *settings) furnish(ctx context.Context, b *instance, in cdp.BrowserContextID) error {
	if s == nil {
		return nil
	}
	if s.Geolocation != nil {
		_, err := cdp.Call(ctx, b.root, browser.SetPermission,
			browser.SetPermissionParams{Permission: &browser.PermissionDescriptor{Name: "geolocation"},
				Setting: browser.PermissionSettingGranted, Origin: s.origin, BrowserContextID: in})
		if err != nil {
			return fmt.Errorf("granting geolocation: %w", err)
		}
	}
	stored := s.Stored()
	if err := b.setCookies(ctx, in, s.origin, stored.Cookies); err != nil {
		return err
	}
	return b.setItems(ctx, in, s.origin, stored.LocalStorage)
}

// Parts of user agents of Chromium.
var (
	chromeVersion  = regexp.MustCompile(`\b(?:Chrome|Chromium)/(\d{1,5})((?:\.\d{1,6}){0,3})`)
	macVersion     = regexp.MustCompile(`Mac OS X (\d+[_.]\d+(?:[_.]\d+)?)`)
	androidVersion = regexp.MustCompile(`Android (\d+(?:\.\d+){0,2})(?:; ([^;)]+))?`)
	edgeVersion    = regexp.MustCompile(`\bEdg/(\d{1,5})((?:\.\d{1,6}){0,3})`)
)

// metadataOf returns the client hints that go with a user agent (UA-CH, 3.2): a
// browser that is not built on Chromium has none, and nil makes it send none.
func metadataOf(userAgent string) *emulation.UserAgentMetadata {
	engine := chromeVersion.FindStringSubmatch(userAgent)
	if engine == nil {
		return nil
	}
	brand, version := "Google Chrome", engine
	if edge := edgeVersion.FindStringSubmatch(userAgent); edge != nil {
		brand, version = "Microsoft Edge", edge
	}
	list := func(rest string, engine, version []string) []*emulation.UserAgentBrandVersion {
		full := func(v []string) string {
			if rest == "" {
				return v[1]
			}
			return v[1] + (v[2] + ".0.0.0")[:max(len(v[2]), len(rest))]
		}
		return []*emulation.UserAgentBrandVersion{{Brand: "Chromium", Version: full(engine)},
			{Brand: brand, Version: full(version)},
			{Brand: "Not=A?Brand", Version: "24" + rest}}
	}
	m := &emulation.UserAgentMetadata{Brands: list("", engine, version),
		FullVersionList: list(".0.0.0", engine, version),
		Mobile:          strings.Contains(userAgent, "Mobile")}
	switch android, mac := androidVersion.FindStringSubmatch(userAgent), macVersion.FindStringSubmatch(userAgent); {
	case android != nil:
		m.Platform, m.PlatformVersion, m.Model = "Android", android[1], strings.TrimSpace(android[2])
	case mac != nil:
		m.Platform, m.PlatformVersion = "macOS", strings.ReplaceAll(mac[1], "_", ".")
	case strings.Contains(userAgent, "Windows NT"):
		m.Platform = "Windows"
	case strings.Contains(userAgent, "CrOS"):
		m.Platform = "Chrome OS"
	case strings.Contains(userAgent, "Linux"):
		m.Platform = "Linux"
	}
	if strings.Contains(userAgent, "x86_64") || strings.Contains(userAgent, "x64") {
		m.Architecture, m.Bitness = "x86", "64"
	}
	return m
}

// frameType is the type of a frame that is a target of its own. Workers are
// attached to as well, only to let them run: Chromium makes them wait also when
// the filter leaves them out.
const frameType = "iframe"

// setup holds what the targets of a page need before they show anything.
type setup struct {
	invoker  []wire.Command // of the way in which calls reach the tools
	settings *settings      // nil when nothing is set
	reaching *reaching
}

// scripted are the commands for a target that gets the page script.
func (s *setup) scripted() []wire.Command {
	commands := append([]wire.Command{{Method: page.CommandEnable, Params: page.EnableParams{}}}, s.invoker...)
	return append(commands,
		wire.Command{Method: inspector.CommandEnable},
		wire.Command{Method: cdptarget.CommandSetAutoAttach, Params: wire.AutoAttach(frameType, "worker")})
}

// page are the commands for a page, or a window of it.
func (s *setup) page() []wire.Command {
	commands := append(append(s.scripted(), s.settings.page()...), s.reaching.intercept(s.settings)...)
	if s.reaching.attended { // somebody at the window chooses files themselves
		return commands
	}
	cancel := true
	return append(commands, wire.Command{Method: page.CommandSetInterceptFileChooserDialog,
		Params: page.SetInterceptFileChooserDialogParams{Enabled: true, Cancel: &cancel}})
}

// frame are the commands for a frame of another site.
func (s *setup) frame() []wire.Command {
	commands := append(s.scripted(), s.settings.frame()...)
	if s.reaching.between != nil {
		commands = append(commands, s.reaching.intercept(s.settings)...)
	}
	return commands
}

// apply is [wire.Session.Apply], whose refusals it explains.
func apply(ctx context.Context, s *wire.Session, commands []wire.Command,
	meanwhile func() error) error {
	err := s.Apply(ctx, commands, meanwhile)
	if refused, ok := errors.AsType[*wire.RefusedError](err); ok {
		return setupError(refused.Method, refused.Cause)
	}
	return err
}

// errNoWebMCP says that a browser has no WebMCP of its own.
var errNoWebMCP = errors.New("the browser has no WebMCP of its own")

// setupError says which command a page did not take.
func setupError(method string, cause *cdproto.Error) error {
	if method == webmcp.CommandEnable {
		return fmt.Errorf("%w (%w)", errNoWebMCP, cause)
	}
	if message := refusedSettings[method]; message != "" {
		return configError(message).With(cause)
	}
	return &wire.RefusedError{Method: method, Cause: cause}
}
