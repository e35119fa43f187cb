/** Requests by chance about what there is, what is hidden and what never was, for two worlds that differ only in what a client may not see. */

import { BASE_URL, type RequestContent } from '../site.ts'
import type { Caller, Json } from './oracle.ts'
import { createPopulation, observation } from './population.ts'
import { createDice } from './spread.ts'
import { isHidden } from './worlds.ts'

export type Request = readonly [method: string, target: string, sent?: RequestContent]

const to = (reference: string) => ({ reference })
const applied = (fhirPath: string, resource: Json): Json => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'fhirPath', valueString: fhirPath },
    { name: 'resource', resource },
  ],
})
const tag = (code: string) => ({ tag: [{ system: 'urn:marks', code }] })

/** Requests about what there is, what is hidden and what never was. `own`: of what the client may do without meeting what is hidden. */
export function requestsOf(who: Caller, seed: number) {
  const roll = createDice(seed)
  const all = createPopulation()
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
    roll(['Patient/a.id', 'Patient/b.id', 'Patient/linked.id', `${BASE_URL}/Patient/b.id`, 'Patient/never.id', `Patient?_tag=${mark()}`])
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
      `${name}/$meta`,
      `${name}/$validate`,
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
      roll(['$meta', 'Observation/$meta', 'Patient/$meta']),
      `DocumentReference/$docref?patient=${roll(['a.id', 'b.id', 'never.id'])}${roll(['', '&_count=1', '&start=2020', '&on-demand=true'])}`,
      `Patient/${roll(['a.id', 'a.id', 'b.id', 'linked.id', 'never.id', 'gone.id'])}/$everything?${roll(['', '_count=1', '_count=3', '_type=Observation', '_type=Practitioner,Organization&_count=1', 'start=2020', '_since=2020-01-01'])}`,
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
      () => ['POST', `Observation/$validate?mode=${roll(['create', 'update'])}`, { body: body(id) }],
      () => ['POST', `Observation/$validate?mode=create`, { body: body(id), headers: { 'if-none-exist': `_tag=${mark()}` } }],
      () => ['POST', `${visible()}/$validate?mode=delete`],
      () => ['POST', '$apply-fhirpath', { body: applied(roll(['subject.resolve()', 'descendants()', 'focus.reference']), body(id)) }],
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
  const single = (): Request =>
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
    ])()
  const next = (): Request => (roll([1, 2, 3, 4, 5]) === 1 ? bundle() : single())
  return { next, single, hidden }
}

/** The page after an answer; below the base. */
export const nextPageOf = ({ body }: { readonly body: Json }): string | undefined =>
  body?.link?.find(({ relation }: Json) => relation === 'next')?.url.slice(BASE_URL.length)
