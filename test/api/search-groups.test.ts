/** Specification 4.2, grouping; and the links, weights and explanations of pages. @cloud:here */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { SEARCH_GROUP_EXTENSION } from '../../lambdas/fhir/own-extensions.ts'
import { observation } from '../fixtures/resources.ts'
import { type Tree, withServer } from './server.ts'

const { get, put, post, base } = withServer()

/** The first letter of the id is the patient. */
const measured = (id: string, codes: readonly string[], date: string, more: object = {}): Tree =>
  observation(id, {
    code: { coding: codes.map((code) => ({ system: code < 'm' ? 's1' : 's2', code })) },
    subject: `Patient/${id.slice(0, 1)}`,
    date,
    ...more,
  })

const OBSERVATIONS: readonly Tree[] = [
  measured('p1', ['a'], '2020-01-01'),
  measured('p2', ['a'], '2020-03-01', { status: 'amended' }),
  measured('p3', ['b', 'z'], '2020-02-01'),
  measured('p4', ['b'], '2020-05-01'),
  measured('q1', ['z'], '2020-04-01'),
  measured('q2', ['Z'], '2019-01-01', { identifier: [{ system: 'urn:i', value: 'One' }, { system: 'urn:i', value: 'one' }] }),
  { resourceType: 'Observation', id: 'q3', status: 'final', code: { text: 'no code' }, effectiveDateTime: '2021-01-01' },
] // biome-ignore format: a table

beforeAll(async () => {
  for (const each of OBSERVATIONS) expect([each.id, (await put(`/Observation/${each.id}`, each)).status]).toEqual([each.id, 201])
})

/** `key size: ids` for each group, in order. */
async function groups(query: string): Promise<string> {
  const { body, status } = await get(`/Observation?${query}`, { prefer: 'handling=strict' })
  expect([query, status]).toEqual([query, 200])
  return shown(body)
}

function shown(body: Tree): string {
  const found = new Map<string, string[]>()
  for (const { resource, search } of body.entry ?? []) {
    const [key, size] = search.extension[0].extension
    const name = `${key.valueString} ${size.valueInteger}`
    found.set(name, [...(found.get(name) ?? []), resource.id])
  }
  return [...found].map(([name, ids]) => `${name}: ${ids.join(',')}`).join('; ')
}

describe('_group', () => {
  it.each([
    ['_group=code:code&_groupSort=-date', 'b 2: p4; z 2: q1; a 2: p2; Z 1: q2'],
    ['_group=code&_groupSort=-date', 'b 2: p4; z 2: q1; a 2: p2; Z 1: q2'],
    ['_group=code:system|code&_groupSort=-date', 's1|b 2: p4; s2|z 2: q1; s1|a 2: p2; s1|Z 1: q2'],
    ['_group=code:code&_groupSort=date', 'Z 1: q2; a 2: p1; b 2: p3; z 2: p3'],
    ['_group=code:code&_groupSort=-date&_groupCount=2', 'b 2: p4,p3; z 2: q1,p3; a 2: p2,p1; Z 1: q2'],
    ['_group=code:code&_groupSort=-date&patient=p', 'b 2: p4; a 2: p2; z 1: p3'],
    ['_group=code:code&_groupSort=-date&patient=p&date=lt2020-04', 'a 2: p2; b 1: p3; z 1: p3'],
    ['_group=code:code&code=nothing', ''],
    ['_group=status:code&_groupSort=-date', 'final 6: q3; amended 1: p2'],
    ['_group=status&_groupSort=date', 'final 6: q2; amended 1: p2'],
    ['_group=Observation.code:code&_groupSort=-Observation.effective[x]', 'b 2: p4; z 2: q1; a 2: p2; Z 1: q2'],
    ['_group=Observation.code:system|code&_groupSort=-effectiveDateTime', 's1|b 2: p4; s2|z 2: q1; s1|a 2: p2; s1|Z 1: q2'],
    ['_group=effective&_groupSort=_id&date=2020-01', '2020-01-01 1: p1'],
    ['_group=effectiveDateTime:code&date=2020-01&_groupSort=-meta.lastUpdated', '2020-01-01 1: p1'],
    ['_group=patient:code&_groupSort=-date', 'Patient/p 4: p4; Patient/q 2: q1'],
    ['_group=subject&_groupSort=-date&code=z', 'Patient/q 1: q1; Patient/p 1: p3'],
    ['_group=date&_groupSort=-date&patient=q', '2020-04-01 1: q1; 2019-01-01 1: q2'],
    ['_group=identifier:system|code', 'urn:i|One 1: q2; urn:i|one 1: q2'],
    ['_group=identifier:code', 'One 1: q2; one 1: q2'],
    ['_group=_id&patient=q&_groupSort=_id', 'q1 1: q1; q2 1: q2'],
    ['_group=method:code', ''],
  ])('returns groups: %s → %s', async (query, expected) => expect(await groups(query)).toBe(expected))

  it('groups a primitive by its text, in both forms', async () => {
    await put('/Patient/on', { resourceType: 'Patient', id: 'on', active: true, gender: 'female' })
    const of = async (query: string) => shown((await get(`/Patient?${query}`)).body)
    expect(await of('_group=active:system|code')).toBe('true 1: on')
    expect(await of('_group=active')).toBe('true 1: on')
    expect(await of('_group=gender:system|code')).toBe('female 1: on')
  })

  it('sorts by last update by default', async () => {
    expect(await groups('_group=status')).toBe('final 6: q3; amended 1: p2')
  })

  it('marks each match with the extension that the CapabilityStatement defines', async () => {
    const { body } = await get('/Observation?_group=birthDate', {})
    expect(body.issue[0].details.text).toContain('not a search parameter or an element with one of Observation')
    const { body: found } = await get('/Observation?_group=code&code=a')
    expect(found.entry[0].search.extension).toMatchObject([
      { url: SEARCH_GROUP_EXTENSION, extension: [{ url: 'key' }, { url: 'size', valueInteger: 2 }] },
    ])
    const { contained } = (await get('/metadata')).body
    expect(contained.map(({ url }: Tree) => url)).toContain(SEARCH_GROUP_EXTENSION)
  })

  it('counts the resources that match, grouped or not', async () => {
    const { body } = await get('/Observation?_group=code:code')
    expect(body.total).toBe(7)
  })

  it('pages over groups, by cursor and by offset', async () => {
    const seen: string[] = []
    let url = `/Observation?_group=code:code&_groupSort=-date&_groupCount=2&_count=1`
    for (let pages = 0; pages < 10; pages++) {
      const { body } = await get(url)
      seen.push(shown(body))
      const next = body.link.find(({ relation }: Tree) => relation === 'next')
      if (next === undefined) break
      url = next.url
    }
    expect(seen.join('; ')).toBe('b 2: p4,p3; z 2: q1,p3; a 2: p2,p1; Z 1: q2')
    const second = await get('/Observation?_group=code:code&_groupSort=-date&_count=2&_page=1', { prefer: 'pagination=offset-page' })
    expect(shown(second.body)).toBe('a 2: p2; Z 1: q2')
  })

  it('includes referenced resources, and omits the total for _total=none', async () => {
    await put('/Patient/q', { resourceType: 'Patient', id: 'q' })
    const { body } = await get('/Observation?_group=code&_groupSort=-date&code=z&_include=Observation:patient&_total=none')
    const entries = body.entry.map(({ resource, search }: Tree) => `${search.mode} ${resource.id}`)
    expect([entries, body.total]).toEqual([['match q1', 'match p3', 'include q'], undefined])
  })

  it.each(['_groupCount=3', '_groupSort=-date'])('ignores %s without _group, and omits it from links', async (parameter) => {
    const { body, status } = await get(`/Observation?${parameter}&patient=q&_count=1`)
    expect([status, body.total, body.link.filter(({ url }: Tree) => url.includes('_group'))]).toEqual([200, 2, []])
    const strict = await get(`/Observation?${parameter}`, { prefer: 'handling=strict' })
    const [{ code, details }] = strict.body.issue
    expect([strict.status, code, details.text]).toEqual([400, 'not-found', expect.stringMatching(/^Unknown .+ _group\w+ without _group$/)])
  })

  it.each([
    '_group=nothing',
    '_group=value-quantity',
    '_group=code:display',
    '_group=code:code:code',
    '_group=date:system|code',
    '_group=code&_groupCount=0',
    '_group=code&_groupSort=nothing',
    '_group=_lastUpdated',
    '_group=code&_sort=date',
  ])('rejects %s with 400', async (query) => expect((await get(`/Observation?${query}`)).status).toBe(400))

  it.each(['_group=value', '_group=Observation.value[x]:code', '_group=code&_groupSort=-value'])(
    'rejects %s with 400 and lists the parameters of the element',
    async (query) => {
      const { status, body } = await get(`/Observation?${query}`)
      expect([status, body.issue[0].details.text]).toEqual([400, expect.stringMatching(/: value-concept, value-date, value-quantity$/)])
    },
  )

  it.each(['_group=valueQuantity', '_group=birthDateDate', '_group=Patient.birthDate', '_group=effectiveQuantity'])(
    'rejects %s, which is no element with a groupable parameter',
    async (query) => expect((await get(`/Observation?${query}`)).status).toBe(400),
  )

  it.each(['Patient?_group=name', 'Patient?_group=address:code', 'Encounter?_group=date', 'Observation?_group=value-quantity'])(
    'rejects %s with 400 and lists the groupable parameters',
    async (query) => {
      const { status, body } = await get(`/${query}`)
      const [, codes = ''] = /These are: (.*)$/.exec(body.issue[0].details.text) ?? []
      expect([status, codes.split(', ')]).toEqual([400, expect.arrayContaining(['_id', 'identifier'])])
      expect(codes.split(', ')).not.toContain(/=([a-z-]+)/.exec(query)![1])
      for (const code of codes.split(', ')) expect((await get(`/${query.split('=')[0]}=${code}`)).status).toBe(200)
    },
  )
  it('groups by a string parameter that also has keys', async () => {
    await put('/Organization/ward', { resourceType: 'Organization', id: 'ward', name: 'Ward' })
    expect(shown((await get('/Organization?_group=name')).body)).toBe('Ward 1: ward')
  })
})

describe('links', () => {
  const relations = ({ link }: Tree): Tree => Object.fromEntries(link.map(({ relation, url }: Tree) => [relation, url]))

  it('lead back and forth between offset pages, with or without the header', async () => {
    const headers = { prefer: 'pagination=offset-skip' }
    const { body } = await get('/Observation?_count=2&_skip=2', headers)
    const { first, previous, next } = relations(body)
    expect([first, previous, next].map((url) => new URL(url).searchParams.get('_skip'))).toEqual(['0', '0', '4'])
    const ids = async (url: string) => (await get(url)).body.entry.map(({ resource }: Tree) => resource.id).join(' ')
    expect([await ids(first), await ids(next)]).toEqual(['p1 p2', 'q1 q2'])
    const paged = relations((await get('/Observation?_count=3&_page=1', { prefer: 'pagination=offset-page' })).body)
    expect([paged.previous, paged.next].map((url) => new URL(url).searchParams.get('_page'))).toEqual(['0', '2'])
  })

  it('count pages for _page and resources for _skip, whatever is preferred', async () => {
    const skipped = await get('/Observation?_count=2&_skip=3', { prefer: 'pagination=offset-page' })
    expect(skipped.body.entry.map(({ resource }: Tree) => resource.id)).toEqual(['p4', 'q1'])
    expect(new URL(relations(skipped.body).next).searchParams.get('_skip')).toBe('5')
    const paged = await get('/Observation?_count=2&_page=1', { prefer: 'pagination=offset-skip' })
    expect(new URL(relations(paged.body).next).searchParams.get('_page')).toBe('2')
    expect((await get('/Observation?_skip=1&_page=1')).status).toBe(400)
  })

  it.each(['offset-skip', 'offset-page', 'cursor'])('lead to every match once over pages that end early: %s', async (pagination) => {
    const div = `<div xmlns="http://www.w3.org/1999/xhtml">${'x'.repeat(440_000)}</div>`
    const wanted = Array.from({ length: 12 }, (_, i) => `heavy-${String.fromCharCode(97 + i)}`)
    for (const id of wanted)
      await put(`/List/${id}`, { resourceType: 'List', id, status: 'current', mode: 'working', text: { status: 'additional', div } })
    for (const send of [
      (prefer: string) => get('/List?_count=12&_total=none', { prefer }),
      (prefer: string) => post('/List/_search', '_count=12', { prefer, 'content-type': 'application/x-www-form-urlencoded' }),
    ]) {
      const sizes: number[] = []
      const seen: string[] = []
      const prefer = `pagination=${pagination}`
      for (let page = await send(prefer); ; ) {
        const ids = (page.body.entry ?? []).map(({ resource }: Tree) => resource.id)
        sizes.push(ids.length)
        seen.push(...ids)
        const { next } = relations(page.body)
        if (next === undefined) break
        page = await get(next, { prefer })
      }
      expect(seen).toEqual(wanted)
      expect(sizes).toEqual([10, 2])
    }
  })

  it('continue by cursor beyond the maximum offset', async () => {
    const entry = Array.from({ length: 100 }, (_, i) => {
      const coding = Array.from({ length: 101 }, (_, j) => ({ code: `${i}-${j}` }))
      const resource = { resourceType: 'Basic', id: `many-${i}`, identifier: [{ value: 'many' }], code: { coding } }
      return { resource, request: { method: 'PUT', url: `Basic/many-${i}` } }
    })
    expect((await post('/', { resourceType: 'Bundle', type: 'transaction', entry })).status).toBe(200)
    const prefer = 'pagination=offset-skip'
    const { body } = await get('/Basic?identifier=many&_group=code&_count=550&_skip=9500', { prefer })
    const { next, previous } = relations(body)
    expect([new URL(next).searchParams.has('_skip'), new URL(previous).searchParams.get('_skip')]).toEqual([false, '8950'])
    const rest = await get(next, { prefer })
    expect([rest.status, rest.body.entry.length, relations(rest.body).next]).toEqual([200, 50, undefined])
  })

  it('belong to pages that truncate large groups, and report it in an entry', async () => {
    const div = `<div xmlns="http://www.w3.org/1999/xhtml">${'x'.repeat(300_000)}</div>`
    for (let i = 0; i < 20; i++) {
      const code = { coding: [{ system: 'urn:weights', code: i < 18 ? 'many' : 'few' }] }
      const id = `weighing-${String(i).padStart(2, '0')}`
      await put(`/Basic/${id}`, { resourceType: 'Basic', id, code, text: { status: 'additional', div } })
    }
    const ask = async (url: string) => {
      const { body, text, status } = await get(url)
      expect([status, text.length < 5_000_000]).toEqual([200, true])
      const matches = body.entry.filter(({ search }: Tree) => search.mode === 'match')
      return { body, matches, sizes: new Set(matches.map(({ search }: Tree) => search.extension[0].extension[1].valueInteger)) }
    }
    const first = await ask('/Basic?code=urn:weights|&_group=code&_groupSort=_id&_groupCount=20')
    expect([first.matches.length, [...first.sizes]]).toEqual([14, [18]])
    const told = first.body.entry.at(-1)
    expect([told.search.mode, told.resource.issue[0].code]).toEqual(['outcome', 'too-costly'])
    expect(told.resource.issue[0].details.text).toMatch(/^A group is shown .*: 4 of this page are left out\. Search /)
    const second = await ask(first.body.link.find(({ relation }: Tree) => relation === 'next').url)
    expect([second.body.entry.length, [...second.sizes]]).toEqual([2, [2]])
    expect(second.body.link.some(({ relation }: Tree) => relation === 'next')).toBe(false)
  })
  it('return the same matches after a POST, and ignored parameters are named', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const { body } = await post('/Observation/_search', 'patient=q&favourite=Miller&_count=1', form)
    const again = await get(relations(body).self)
    const ids = ({ entry }: Tree) => entry.filter(({ search }: Tree) => search.mode === 'match').map(({ resource }: Tree) => resource.id)
    expect([ids(again.body), again.body.total]).toEqual([ids(body), body.total])
    const told = body.entry.filter(({ search }: Tree) => search.mode === 'outcome').map(({ resource }: Tree) => resource.issue[0])
    expect(told).toMatchObject([{ severity: 'warning', details: { text: expect.stringContaining('favourite') } }])
    expect(JSON.stringify(told)).not.toContain('Miller')
    const second = (await get(relations(body).next)).body
    expect(ids((await get(relations(second).self)).body)).toEqual(ids(second))
    const long = await get(`/Observation?patient=q,${'x'.repeat(5_000)}&favourite=Miller`)
    expect((await get(relations(long.body).self)).body.total).toBe(2)
    expect(long.body.entry.at(-1).resource.issue[0].details.text).toContain('favourite')
  })

  it('contain a key instead of the query for a POST and for a long search', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const posted = await post('/Observation/_search', 'patient=p&_count=3', form)
    const long = await get(`/Observation?patient=p,${'x'.repeat(5_000)}&_count=3`)
    for (const { body } of [posted, long]) {
      expect(body.entry).toHaveLength(3)
      const { self, next } = relations(body)
      expect(self).not.toContain('patient')
      expect([...new URL(next).searchParams.keys()]).toEqual(['_cursor'])
      expect(next.length).toBeLessThan(800)
      expect((await get(next)).body.entry.map(({ resource }: Tree) => resource.id)).toEqual(['p4'])
      const { status, body: shorter } = await get(`${self}&_count=2`)
      expect([status, shorter.total, shorter.entry?.length]).toEqual([200, 4, 2])
    }
    const skipped = await post('/Observation/_search', 'patient=p&_count=3', { ...form, prefer: 'pagination=offset-skip' })
    expect((await get(relations(skipped.body).next)).body.entry.map(({ resource }: Tree) => resource.id)).toEqual(['p4'])
  })

  it.each([
    ['offset-skip', '_skip', '3'],
    ['offset-page', '_page', '1'],
  ])('use the preferred paging: %s; a cursor continues by cursor', async (way, name, at) => {
    const prefer = { prefer: `pagination=${way}` }
    const path = '/Observation?patient=p&_count=3'
    expect(new URL(relations((await get(path, prefer)).body).next).searchParams.get(name)).toBe(at)
    const { next } = relations((await get(path)).body)
    expect((await get(next, prefer)).body.entry.map(({ resource }: Tree) => resource.id)).toEqual(['p4'])
  })

  it('are invalid for another search, or if altered', async () => {
    const { next } = relations((await get('/Observation?_count=2')).body)
    const cursor = new URL(next).searchParams.get('_cursor')
    expect((await get(`/Patient?_cursor=${cursor}`)).status).toBe(400)
    expect((await get(`/Observation?_cursor=${cursor}x`)).status).toBe(400)
  })
})

it('a search with the index token of a write sees it; altered tokens are 400', async () => {
  // No other test counts resources of this type.
  const written = await put('/Basic/token', { resourceType: 'Basic', id: 'token', code: { coding: [{ code: 't' }] } })
  const token = written.headers.get('x-index-token') ?? ''
  expect(token.length).toBeGreaterThan(10)
  expect(token.length).toBeLessThanOrEqual(200)
  expect((await get('/Basic?code=t', { 'x-index-token': token })).body.total).toBe(1)
  expect((await get('/Basic?code=t', { 'x-index-token': `${token}x` })).status).toBe(400)
})

it('Prefer: explain shows the plan and the query of the index', async () => {
  const { body } = await get('/Observation?code=a&_sort=-date', { prefer: 'explain' })
  const { fullUrl, resource, search } = body.entry.at(-1)
  expect(fullUrl).toMatch(/^urn:uuid:[0-9a-f-]{36}$/)
  expect([resource.resourceType, search.mode]).toEqual(['OperationOutcome', 'outcome'])
  expect(resource.issue[0].details.text).toContain('"field":"code:code"')
  if (process.env.FHIR_BASE_URL === undefined) {
    const [, step, sorting] = resource.issue.map(({ details }: Tree) => details.text)
    expect(step).toMatch(/^Observation: key .*: at most \d+, \d+ left$/)
    expect(sorting).toMatch(/^Observation: SELECT .* ORDER BY k0 DESC NULLS LAST, d.id LIMIT \?/)
  }
  expect(base()).toContain('/fhir')
})
