/**
 * One client asks two servers the same, one of which keeps much that the client may not see: status, headers and bytes are equal, and so is what
 * the stores are asked. A write to the id of what is hidden is refused: that is another test.
 */
import { afterEach, expect, it } from '@jest/globals'
import type { Json, Who } from './oracle.ts'
import { observation, population } from './population.ts'
import { type Answer, BASE, type Sent } from './site.ts'
import { dice } from './spread.ts'
import { isHidden, twoWorlds, type World } from './worlds.ts'

const EACH = process.env.FHIR_TEST_FULL === '1' ? 600 : 60

let open: readonly World[] = []
afterEach(async () => {
  for (const world of open) await world.close()
  open = []
})

type Request = readonly [method: string, target: string, sent?: Sent]

const to = (reference: string) => ({ reference })
const tag = (code: string) => ({ tag: [{ system: 'urn:marks', code }] })

/** Requests about what there is, what is hidden and what never was. `own`: of what the client may do without meeting what is hidden. */
function requestsOf(who: Who, seed: number) {
  const roll = dice(seed)
  const all = population()
  const kept = all.all(who.tenant)
  const names = kept.map(({ type, id }) => `${type}/${id}`)
  const hidden = new Set(kept.filter((each) => isHidden(who, each, all)).map(({ type, id }) => `${type}/${id}`))
  const made: string[] = []
  const never = () => `${roll(['Observation', 'Patient', 'Device', 'Binary'])}/never-${roll([1, 2, 3])}.id`
  const any = () => roll([roll(names), roll(names), roll(names), never(), ...made.slice(-3)])
  const visible = () => roll([...names.filter((name) => !hidden.has(name) && name.startsWith('Observation/own')), ...made.slice(-5)])
  const mark = () => {
    const [type, id] = any().split('/')
    return roll([`MARK-${who.tenant}-${type}-${id}-v1`, 'odd', 'even', `key-${id}`])
  }
  const patient = () =>
    roll(['Patient/a.id', 'Patient/b.id', 'Patient/linked.id', `${BASE}/Patient/b.id`, 'Patient/never.id', `Patient?_tag=${mark()}`])
  const body = (id: string | undefined): Json => ({
    ...observation(roll(['laboratory', 'vital-signs']), { subject: to(roll(['Patient/a.id', 'Patient/a.id', patient()])) }),
    ...(id === undefined ? {} : { id }),
    ...(roll([1, 2, 3]) === 1 ? { focus: [to(any())], encounter: to(`Encounter?_tag=${mark()}`) } : {}),
    meta: tag(`key-${id}`),
  })
  const fresh = (): string => {
    made.push(`Observation/z-${made.length}.id`)
    return made.at(-1)!.slice('Observation/'.length)
  }
  const read = (): string => {
    const name = any()
    return roll([
      name,
      `${name}/_history`,
      `${name}/_history/1`,
      `${name}/_history/2`,
      `${name}/_history?_count=1`,
      `${name}?_summary=true`,
    ])
  }
  const search = (): string =>
    roll([
      `Observation?_tag=${mark()}`,
      `Observation?subject=${patient().replace(/\?.*/, '/x')}&_summary=count`,
      `Observation?_count=${roll([1, 2, 3])}&_sort=${roll(['_id', '-_lastUpdated', 'status', '-date'])}`,
      `Observation?_group=${roll(['category:code', 'subject', 'status'])}&_groupCount=${roll([1, 3])}&_count=${roll([1, 2])}`,
      `Observation?subject:Patient._tag=${mark()}`,
      `Observation?_total=accurate&_count=1&category=${roll(['laboratory', 'vital-signs'])}`,
      `Observation?_include=*&_revinclude=*&_tag=${mark()}`,
      `Patient?_has:Observation:subject:_tag=${mark()}`,
      `Patient?_revinclude=${roll(['Observation:subject', 'Group:member', 'Encounter:subject', 'Patient:link'])}`,
      `Encounter?subject:Patient.family=${roll(['Abel', 'Baker'])}`,
      `Patient/${roll(['a.id', 'b.id', 'never.id'])}/${roll(['Observation', '*', 'Encounter', 'Device'])}`,
      `?_tag=${mark()}&_sort=-_lastUpdated`,
      `?_type=${roll(['Device,Group', 'Patient,RelatedPerson', 'Binary'])}`,
      `Observation?_skip=${roll([0, 1, 5])}&_count=2`,
      `Observation?${roll(['nonsense=1', '_sort=nonsense', 'date=nonsense', 'subject:Group.member=x', '_cursor=abc'])}`,
      `${roll(['Observation', 'Organization', 'Patient'])}/_history?_count=3`,
    ])
  const writing = (): Request => {
    const id = fresh()
    const patch = [
      roll([
        { op: 'replace', path: '/status', value: 'amended' },
        { op: 'test', path: '/status', value: 'nonsense' },
        { op: 'replace', path: '/subject', value: to('Patient/b.id') },
      ]),
    ]
    return roll<() => Request>([
      () => ['POST', 'Observation', { body: body(id) }],
      () => ['PUT', `Observation/${id}`, { body: body(id) }],
      () => ['PUT', `Observation/${id}`, { body: body(id), headers: { 'if-match': roll(['W/"1"', 'W/"2"']) } }],
      () => [
        'PATCH',
        any(),
        {
          body: Buffer.from(JSON.stringify(patch)),
          headers: { 'content-type': 'application/json-patch+json', 'if-match': roll(['W/"1"', 'W/"2"']) },
        },
      ],
      () => ['PATCH', any(), { body: Buffer.from(JSON.stringify(patch)), headers: { 'content-type': 'application/json-patch+json' } }],
      () => [
        'POST',
        'Observation',
        {
          body: body(id),
          headers: {
            'if-none-exist': `_tag=${mark()}`,
            prefer: roll(['return=minimal', 'return=representation', 'return=OperationOutcome']),
          },
        },
      ],
      () => ['PUT', `Observation?_tag=${mark()}`, { body: body(id) }],
      () => [
        'PATCH',
        `Observation?_tag=${mark()}`,
        { body: Buffer.from(JSON.stringify(patch)), headers: { 'content-type': 'application/json-patch+json' } },
      ],
      () => ['DELETE', `Observation?_tag=key-${roll(made.slice(-5)).slice('Observation/'.length)}`],
      () => ['DELETE', visible()],
      () => [
        'POST',
        'Binary',
        {
          body: Buffer.from(id),
          headers: { 'content-type': 'text/plain', 'x-security-context': roll(['Patient/a.id', 'Patient/b.id', 'Observation/never.id']) },
        },
      ],
    ])()
  }
  const bundle = (): Request => {
    const type = roll(['batch', 'transaction'])
    const entry = [1, 2, 3].map(() => {
      const [method, url, { body: resource, headers = {} } = {}] = roll<Request>([['GET', roll([read(), search()])], writing()])
      if (resource instanceof Uint8Array) return { request: { method: 'GET', url: read() } }
      return {
        request: { method, url, ifMatch: headers['if-match'], ifNoneExist: headers['if-none-exist'] },
        ...(resource === undefined ? {} : { resource }),
      }
    })
    return ['POST', '', { body: { resourceType: 'Bundle', type, entry }, headers: { prefer: 'return=representation' } }]
  }
  const next = (): Request =>
    roll<() => Request>([
      () => [
        'GET',
        read(),
        {
          headers: roll<Record<string, string>>([
            {},
            { 'if-none-match': 'W/"1"' },
            { 'if-modified-since': 'Wed, 21 Oct 2099 07:28:00 GMT' },
          ]),
        },
      ],
      () => ['GET', search()],
      () => ['POST', 'Observation/_search', { body: `_tag=${mark()}&_count=1` }],
      writing,
      bundle,
    ])()
  return { next, hidden }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g
/** But for how much is written, which a token for reading one's writes tells, sealed, and ids by chance. */
function shown({ status, headers: { 'x-index-token': _, 'x-request-id': __, ...headers }, text }: Answer): string {
  return `${status} ${JSON.stringify(headers)} ${text}`.replace(UUID, 'uuid')
}

/** Entries of a batch take turns. */
const callsOf = (world: World): string => world.calls.splice(0).sort().join('\n').replace(UUID, 'uuid')

/** What a Binary says it belongs to is looked up, where there is one: the one thing that is read besides. */
const isOfBinary = (asked: string): boolean => asked.includes('Binary/')

const CLIENTS: readonly (readonly [string, Omit<Who, 'tenant' | 'client'>, Readonly<Record<string, string>>])[] = [
  ['an app of a patient', { scopes: 'patient/*.cruds', patient: 'a.id' }, {}],
  [
    'an app of a patient who logged in',
    { scopes: 'user/*.cruds launch/patient', isUser: true, patient: 'a.id', fhirUser: 'Patient/a.id' },
    { FHIR_NO_OP_UPDATES: 'ignore' },
  ],
  [
    'an app for some observations',
    { scopes: 'patient/Observation.cruds?category=laboratory patient/Patient.rs patient/Encounter.s', patient: 'a.id' },
    {},
  ],
  ['a system for what is tagged', { scopes: 'system/*.cruds?_tag=even system/Observation.cruds?_tag=odd&category=laboratory' }, {}],
  ['a system without patients', { scopes: 'system/Observation.cruds?category=laboratory system/Device.rs system/Binary.r' }, {}],
  ['an app where references must lead somewhere', { scopes: 'patient/*.cruds', patient: 'a.id' }, { FHIR_REFERENTIAL_INTEGRITY: 'on' }],
]

it.each(CLIENTS)(
  'are one to %s',
  async (_, more, settings) => {
    const who: Who = { tenant: 'north', client: 'app', ...more }
    open = await twoWorlds(who, settings)
    const [whole, other] = open as [World, World]
    const { next, hidden } = requestsOf(who, EACH + JSON.stringify(more).length)
    expect(hidden.size).toBeGreaterThan(5)
    const different: string[] = []
    const calls: string[] = []
    const statuses = new Map<number, number>()
    for (let i = 0; i < EACH && different.length < 5; i++) {
      const [method, target, sent] = next()
      let [mine, others] = [`/${target}`, `/${target}`]
      for (let page = 0; page < 4; page++) {
        whole.at(i)
        other.at(i)
        const a = await whole.ask(who, page === 0 ? method : 'GET', mine, page === 0 ? sent : {})
        const b = await other.ask(who, page === 0 ? method : 'GET', others, page === 0 ? sent : {})
        statuses.set(a.status, (statuses.get(a.status) ?? 0) + 1)
        const asked = `${method} ${mine} ${sent?.body instanceof Uint8Array ? sent.body : JSON.stringify(sent)}`
        if (shown(a) !== shown(b)) different.push(`${asked}\n${shown(a)}\n${shown(b)}`)
        const [callsOfA, callsOfB] = [callsOf(whole), callsOf(other)]
        if (callsOfA !== callsOfB && !isOfBinary(asked)) calls.push(`${asked}\n${callsOfA}\n---\n${callsOfB}`)
        const linkOf = ({ body }: Answer) => body?.link?.find(({ relation }: Json) => relation === 'next')?.url.slice(BASE.length)
        if (method !== 'GET' || linkOf(a) === undefined || linkOf(b) === undefined) break
        ;[mine, others] = [linkOf(a), linkOf(b)]
      }
    }
    expect(different).toEqual([])
    expect(calls.slice(0, 5)).toEqual([])
    expect(statuses.size).toBeGreaterThan(4)
  },
  120_000,
)
