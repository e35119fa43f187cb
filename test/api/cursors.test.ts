/** Specification 4.2, paging: a cursor belongs to its path, filters and order; crossed with anything else it is refused. @cloud:here */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { randomOf } from '../contracts/generated-search.ts'
import { eventually } from '../fixtures/eventually.ts'
import { type Tree, withServer } from './server.ts'

const { get, put, post } = withServer()

beforeAll(async () => {
  await put('/Patient/p', { resourceType: 'Patient', id: 'p', name: [{ family: 'Mustermann' }] })
  for (const [i, code] of ['a', 'b', 'c', 'a'].entries())
    await put(`/Observation/o${i}`, {
      resourceType: 'Observation',
      id: `o${i}`,
      status: 'final',
      code: { coding: [{ system: 's', code }] },
      subject: { reference: 'Patient/p' },
      effectiveDateTime: `2020-01-0${i + 1}`,
    })
})

const linkOf = ({ link }: Tree, wanted: string): string => link.find(({ relation }: Tree) => relation === wanted)?.url
const cursorOf = (body: Tree): string => new URL(linkOf(body, 'next')).searchParams.get('_cursor')!

/** A history of several resources may show writes later (X-History-Until): it is asked again until it has more than a page. */
async function firstCursorOf(path: string): Promise<string> {
  const pageOf = async (): Promise<Tree> => {
    const { status, body } = await get(path)
    expect([path, status]).toEqual([path, 200])
    return body
  }
  return cursorOf(await eventually(pageOf, { until: (body) => linkOf(body, 'next') !== undefined, every: 500 }))
}

const withCursor = (path: string, cursor: string) => `${path}${path.includes('?') ? '&' : '?'}_cursor=${cursor}`

/** Each pages through something else. */
const PAGED = [
  '/Observation?_count=1',
  '/Observation?_count=1&_sort=date',
  '/Observation?_count=1&_sort=-date',
  '/Observation?_count=1&_sort=date,status',
  '/Observation?_count=1&_sort=status',
  '/Observation?_count=1&status=final',
  '/Observation?_count=1&status=final&patient=p',
  '/Observation?_count=1&_id=o0,o1,o2,o3',
  '/Observation?_count=1&_group=code:code',
  '/Observation?_count=1&_group=code:system|code',
  '/Observation?_count=1&_group=code:code&_groupSort=date',
  '/Observation?_count=1&_group=code:code&status=final',
  '/Patient/p/Observation?_count=1',
  '/Patient/p/*?_count=1',
  '/?_count=1',
  '/?_count=1&_type=Observation',
  '/_history?_count=1',
  '/_history?_count=1&_since=2020',
  '/Observation/_history?_count=1',
  '/Observation/_history?_count=1&_since=2020',
  '/Observation/_history?_count=1&_since=2021',
]

describe('a cursor', () => {
  it(`is valid only for its own of ${PAGED.length} searches and histories`, async () => {
    const cursors: string[] = []
    for (const path of PAGED) cursors.push(await firstCursorOf(path))
    for (const [i, path] of PAGED.entries())
      for (const [j, cursor] of cursors.entries()) {
        const { status, body } = await get(withCursor(path, cursor))
        expect([path, PAGED[j], status]).toEqual([path, PAGED[j], i === j ? 200 : 400])
        if (i !== j) expect(body.resourceType).toBe('OperationOutcome')
      }
  })

  it.each([
    ['the page size', '_count=2&patient=p&status=final&_sort=date'],
    ['the order of criteria', '_count=1&status=final&patient=p&_sort=date'],
    ['the selection of elements', '_count=1&patient=p&status=final&_sort=date&_elements=id&_format=json&_pretty=true'],
    ['an include', '_count=1&patient=p&status=final&_sort=date&_include=Observation:patient'],
  ])('stays valid when %s changes', async (_, query) => {
    const { body } = await get('/Observation?patient=p&status=final&_sort=date&_count=1')
    const page = await get(withCursor(`/Observation?${query}`, cursorOf(body)))
    expect([page.status, page.body.entry[0].resource.id]).toEqual([200, 'o1'])
  })

  it('continues a stored search, and rejects other criteria', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const { body } = await post('/Observation/_search', 'patient=p&_count=1&_sort=date', form)
    const next = linkOf(body, 'next')
    const ids = ({ body }: Tree) => body.entry.map(({ resource }: Tree) => resource.id)
    expect(ids(await get(next))).toEqual(['o1'])
    expect(ids(await get(`${next}&_format=json`))).toEqual(['o1'])
    const larger = await get(`${next}&_count=2`)
    expect(ids(larger)).toEqual(['o1', 'o2'])
    expect(ids(await get(linkOf(larger.body, 'next')))).toEqual(['o3'])
    for (const more of ['status=final', '_sort=-date', '_group=code', '_type=Patient&status=final'])
      expect([more, (await get(`${next}&${more}`)).status]).toEqual([more, 400])
    expect((await get(next.replace('/Observation?', '/Patient?'))).status).toBe(400)
  })

  describe.each([
    ['_skip', 'offset-skip'],
    ['_page', 'offset-page'],
  ])('of a stored search paged by %s', (name, pagination) => {
    const long = `_id=o0,o1,o2,o3,${Array.from({ length: 999 }, (_, i) => `x${i}`).join(',')}&_count=1`
    const form = { 'content-type': 'application/x-www-form-urlencoded', prefer: `pagination=${pagination}` }

    it.each([
      ['POST', () => post('/Observation/_search', 'patient=p&_count=1', form)],
      ['GET with more than 4 kB', () => get(`/Observation?${long}`, { prefer: `pagination=${pagination}` })],
    ])('stands beside the offset in each link: %s', async (_, first) => {
      const shown: string[] = []
      const at: (string | null)[] = []
      for (let { body } = await first(); ; ) {
        shown.push(...body.entry.map(({ resource }: Tree) => resource.id))
        for (const { url } of body.link) expect([...new URL(url).searchParams.keys()].filter((key) => key !== name)).toEqual(['_cursor'])
        const offsetOf = (relation: string) => new URL(linkOf(body, relation)).searchParams.get(name)
        expect(offsetOf('first')).toBe('0')
        at.push(offsetOf('self'))
        const next = linkOf(body, 'next')
        if (next === undefined) {
          const previous = await get(linkOf(body, 'previous'))
          expect(previous.body.entry[0].resource.id).toBe('o2')
          expect(linkOf(previous.body, 'next')).toContain(`${name}=3`)
          expect((await get(linkOf(previous.body, 'next').replace(`${name}=3`, `${name}=1`))).body.entry[0].resource.id).toBe('o1')
          break
        }
        ;({ body } = await get(next))
      }
      expect([shown, at]).toEqual([
        ['o0', 'o1', 'o2', 'o3'],
        [null, '1', '2', '3'],
      ])
    })
  })

  it('rejects an offset beside it', async () => {
    const { body } = await get('/Observation?_count=1')
    expect((await get(withCursor('/Observation?_count=1&_skip=1', cursorOf(body)))).status).toBe(400)
    const preferred = await get(withCursor('/Observation?_count=1', cursorOf(body)), { prefer: 'pagination=offset-page' })
    expect([preferred.status, preferred.body.entry[0].resource.id]).toEqual([200, 'o1'])
  })

  it('is short, and discloses no text of the search', async () => {
    const { body: page } = await get('/Observation?_count=1&_sort=-date')
    expect(cursorOf(page).length).toBeLessThan(200)
    expect(Buffer.from(cursorOf(page), 'base64url').toString('latin1')).not.toMatch(/2020|Observation|date/)
  })
})

it('paging returns each unchanged resource once while others move', async () => {
  const of = (id: string, date: string): Tree => ({
    resourceType: 'Encounter',
    id,
    status: 'finished',
    class: { code: 'AMB' },
    period: { start: date, end: date },
  })
  const dates = ['2021-01-01', '2021-01-02', '2021-01-03', '2021-01-04', '2021-01-05', '2021-01-06', '2021-01-07']
  for (const [i, date] of dates.entries()) await put(`/Encounter/e${i}`, of(`e${i}`, date))
  const seen: string[] = []
  let url: string | undefined = '/Encounter?_sort=date&_count=2'
  for (let page = 0; url !== undefined; page++) {
    const { body }: { body: Tree } = await get(url)
    seen.push(...body.entry.map(({ resource }: Tree) => `${resource.id}/${resource.meta.versionId}`))
    url = linkOf(body, 'next')
    // One that was shown comes behind what is left, and one that was not before what was shown.
    if (page === 0)
      for (const [id, date] of [
        ['e0', '2022-01-01'],
        ['e6', '2020-01-01'],
      ] as const)
        await put(`/Encounter/${id}`, of(id, date))
  }
  expect(seen).toEqual(['e0/1', 'e1/1', 'e2/1', 'e3/1', 'e4/1', 'e5/1', 'e0/2'])
})

describe('A search too long for a link', () => {
  const random = randomOf(7)
  /** Texts that no compression makes shorter, nor any sort value longer. */
  const text = (): string => String.fromCodePoint(...Array.from({ length: 1_000 }, () => 0x4e00 + random.below(20_000)))

  it('is stored, so that every link stays below 8,000 characters and works', async () => {
    const ids = ['a', 'b', 'c']
    for (const id of ids)
      await put(`/Practitioner/${id}`, {
        ...{ resourceType: 'Practitioner', id, name: [{ family: text(), given: [text()] }] },
        address: [{ city: text(), state: text(), country: text() }],
      })
    const found: string[] = []
    const sorted = '_sort=family,given,address-city,address-state,-address-country'
    const first = `/Practitioner?_count=1&${sorted}&_tag:not=${'x'.repeat(3_700)}`
    for (let path: string | undefined = first; path !== undefined; ) {
      const { status, body } = await get(path)
      expect([status, body.issue]).toEqual([200, undefined])
      found.push(...body.entry.map(({ resource }: Tree) => resource.id))
      for (const { url } of body.link) expect(url.length).toBeLessThan(8_000)
      const next = linkOf(body, 'next')
      path = next?.slice(next.indexOf('/Practitioner?'))
    }
    expect(found.toSorted()).toEqual(ids)
  })
})
