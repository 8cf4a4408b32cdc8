// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	start     = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	testNames = []string{"hook.kserve.svc", "127.0.0.1"}
)

const day = 24 * time.Hour

func made(tb testing.TB) map[string][]byte {
	tb.Helper()
	data, err := issue(nil, newAuthority, terms{start, testNames, DefaultLifetimes()}, nil)
	require.NoError(tb, err)
	return data
}

func TestWhatIsDue(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		at    time.Time
		names []string
		want  need
	}{
		"just made":                        {start, testNames, nothing},
		"on a clock that is behind":        {start.Add(-backdate / 2), testNames, nothing},
		"a month later":                    {start.Add(30 * day), testNames, nothing},
		"two thirds of the serving life":   {start.Add(61 * day), testNames, newServing},
		"the serving certificate expired":  {start.Add(100 * day), testNames, newServing},
		"two thirds of the authority's":    {start.Add(245 * day), testNames, newAuthority},
		"a clock that jumped ten years on": {start.Add(3650 * day), testNames, newAuthority},
		"a clock that jumped years back":   {start.Add(-3650 * day), testNames, newAuthority},
		"another name":                     {start, append([]string{"new.example.com"}, testNames...), newServing},
		"another address":                  {start, []string{"127.0.0.2"}, newServing},
		"fewer names":                      {start, testNames[:1], nothing},
	}
	m, err := parse(made(t))
	require.NoError(t, err)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, m.needs(c.at, c.names, DefaultLifetimes()))
			data, err := issue(m, c.want, terms{c.at, c.names, DefaultLifetimes()}, nil)
			require.NoError(t, err)
			next, err := parse(data)
			require.NoError(t, err)
			require.Equal(t, nothing, next.needs(c.at, c.names, DefaultLifetimes()), "what was due is done")
			require.Empty(t, next.problem(c.at, c.names))
		})
	}
}

func TestAnOldAuthorityStaysForAWhile(t *testing.T) {
	t.Parallel()
	first, err := parse(made(t))
	require.NoError(t, err)
	later := start.Add(245 * day)
	data, err := issue(first, newAuthority, terms{later, testNames, DefaultLifetimes()}, nil)
	require.NoError(t, err)
	second, err := parse(data)
	require.NoError(t, err)
	require.Len(t, second.authorities, 2)
	require.True(t, second.authorities[1].Equal(first.authorities[0]))
	require.Equal(t, nothing, second.needs(later.Add(23*time.Hour), testNames, DefaultLifetimes()))
	require.Equal(t, fewerAuthorities, second.needs(later.Add(25*time.Hour), testNames, DefaultLifetimes()))
	data, err = issue(second, fewerAuthorities, terms{later.Add(25 * time.Hour), testNames, DefaultLifetimes()}, nil)
	require.NoError(t, err)
	third, err := parse(data)
	require.NoError(t, err)
	require.Len(t, third.authorities, 1)
	require.True(t, third.serving.Leaf.Equal(second.serving.Leaf), "what is served stays")
}

func TestAuthoritiesDoNotPileUp(t *testing.T) {
	t.Parallel()
	m, err := parse(made(t))
	require.NoError(t, err)
	for range 10 {
		data, err := issue(m, newAuthority, terms{start, testNames, DefaultLifetimes()}, m.authorities)
		require.NoError(t, err)
		m, err = parse(data)
		require.NoError(t, err)
	}
	require.Len(t, m.authorities, maxAuthorities)
}

func TestBrokenContentIsNotUsed(t *testing.T) {
	t.Parallel()
	other := made(t)
	cases := map[string]func(map[string][]byte){
		"nothing":                          func(d map[string][]byte) { clear(d) },
		"no key":                           func(d map[string][]byte) { delete(d, keyServingKey) },
		"a key of another certificate":     func(d map[string][]byte) { d[keyServingKey] = other[keyServingKey] },
		"an authority's key of another":    func(d map[string][]byte) { d[keyAuthority] = other[keyAuthority] },
		"an authority's key that is none":  func(d map[string][]byte) { d[keyAuthority] = []byte("x") },
		"a key without an authority":       func(d map[string][]byte) { delete(d, keyAuthorities) },
		"an authority that is no PEM":      func(d map[string][]byte) { d[keyAuthorities] = []byte("hello") },
		"a certificate that is cut":        func(d map[string][]byte) { d[keyServing] = d[keyServing][:len(d[keyServing])/2] },
		"a certificate with a flipped bit": func(d map[string][]byte) { d[keyServing][100] ^= 1 },
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := maps.Clone(made(t))
			spoil(data)
			m, err := parse(data)
			if err == nil { // a flipped bit may still be a certificate, but nobody signed it
				require.NotEmpty(t, m.problem(start, testNames))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	data := made(f)
	f.Add(data[keyAuthorities], data[keyAuthority], data[keyServing], data[keyServingKey])
	f.Add([]byte{}, []byte{}, data[keyServing], data[keyServingKey])
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----"), []byte("x"), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, ca, caKey, cert, key []byte) {
		m, err := parse(map[string][]byte{keyAuthorities: ca, keyAuthority: caKey, keyServing: cert, keyServingKey: key})
		if err != nil {
			return
		}
		_ = m.problem(start, testNames)
		if m.caKey != nil {
			due := m.needs(start, testNames, DefaultLifetimes())
			_, err := issue(m, due, terms{start, testNames, DefaultLifetimes()}, nil)
			require.NoError(t, err)
		}
	})
}
