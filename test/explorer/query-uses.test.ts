/** `_typeFilter` and scope of a search, and the parameters that the server ignored. */
import { describe, expect, it } from '@jest/globals'
import { ignoredNames, scopeOf, typeFilterOf } from '../../lambdas/explorer/browser/search/query-uses.ts'

const search = (query: string, path = '/Observation') => ({ path, query, type: path === '/' ? undefined : 'Observation' })

describe('typeFilterOf', () => {
  it('keeps criteria, and leaves out parameters that shape the response', () => {
    const query = 'category=laboratory&_id=1&_has:Provenance:target:agent=a&_sort=-date&_count=3&_group=code:code&_elements=code&_cursor=a'
    expect(decodeURIComponent(typeFilterOf(search(query))!)).toBe(
      '_typeFilter=Observation?category=laboratory&_id=1&_has%3AProvenance%3Atarget%3Aagent=a',
    )
  })

  it.each([
    ['without criteria', '_count=3', '/Observation'],
    ['in a compartment', 'status=final', '/Patient/1/Observation'],
    ['in all types', '_tag=a', '/'],
  ])('is undefined for a search %s', (_, query, path) => {
    expect(typeFilterOf(search(query, path))).toBeUndefined()
  })
})

describe('scopeOf', () => {
  it.each([
    ['category=laboratory&_sort=-date', 'user/Observation.rs?category=laboratory'],
    ['_id=1&_tag:not=a', 'user/Observation.rs?_id=1&_tag%3Anot=a'],
    ['_count=3', 'user/Observation.rs'],
  ])('returns the scope of %s', (query, scope) => {
    expect(scopeOf(search(query))).toBe(scope)
  })

  it.each([
    ['patient.name=a', '/Observation'],
    ['subject:Patient.name=a', '/Observation'],
    ['_has:Provenance:target:agent=a', '/Observation'],
    ['', '/Patient/1/Observation'],
    ['', '/'],
  ])('is undefined for %s at %s, which no scope expresses', (query, path) => {
    expect(scopeOf(search(query, path))).toBeUndefined()
  })
})

describe('ignoredNames', () => {
  const bundle = { link: [{ relation: 'self', url: 'http://x/fhir/Patient?name=a&_has%3AGroup%3Amember%3Acode=1&_count=2' }] }

  it('returns each name that the link self lacks once', () => {
    expect(ignoredNames(bundle, 'nmae=a&nmae=b&name=a&_has:Group:member:code=1&_count=9&name:exact=c')).toEqual(['nmae', 'name:exact'])
  })

  it('returns nothing without a link self', () => {
    expect(ignoredNames({}, 'name=a')).toEqual([])
  })
})
