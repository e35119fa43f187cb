/** Writes, each on a resource of its own, with what must come of it. */

import { BASE_URL } from '../site.ts'
import {
  type Caller,
  currentVersionOf,
  isInScope,
  isLive,
  type Json,
  mayFind,
  maySee,
  mayWrite,
  type OracleVersion,
  patientsOf,
  type ScopeLetter,
  type StoredResource,
} from './oracle.ts'
import { observation, type Population } from './population.ts'

const to = (reference: string) => ({ reference })
const [A, B] = [to('Patient/a.id'), to('Patient/b.id')]
const lab = (more: Json): Json => observation('laboratory', more)
const binary = (context?: string): Json => ({
  ...{ resourceType: 'Binary', contentType: 'text/plain', data: 'dGV4dA==' },
  ...(context === undefined ? {} : { securityContext: to(context) }),
})

/** What there is, or shall be. */
export const SHAPES: Readonly<Record<string, Json>> = {
  own: lab({ subject: A }),
  other: lab({ subject: B }),
  both: lab({ subject: A, performer: [B] }),
  'both, by the base': lab({ subject: A, performer: [to(`${BASE_URL}/Patient/b.id`)] }),
  'other, by the base': lab({ subject: to(`${BASE_URL}/Patient/b.id`) }),
  nobody: lab({ subject: to('Group/g.id') }),
  'own vital': observation('vital-signs', { subject: A }),
  'other vital': observation('vital-signs', { subject: B }),
  'own condition': { resourceType: 'Condition', subject: A },
  'other condition': { resourceType: 'Condition', subject: B },
  'own device': { resourceType: 'Device', patient: A },
  'other device': { resourceType: 'Device', patient: B },
  "nobody's device": { resourceType: 'Device' },
  patient: { resourceType: 'Patient', name: [{ family: 'Somebody' }] },
  'linked patient': { resourceType: 'Patient', link: [{ other: A, type: 'seealso' }] },
  organization: { resourceType: 'Organization', name: 'Clinic' },
  group: { resourceType: 'Group', type: 'person', actual: true, member: [{ entity: A }] },
  'own binary': binary('Patient/a.id'),
  'other binary': binary('Patient/b.id'),
  "nobody's binary": binary(),
  'binary of an observation': binary('Observation/theirs.id'),
}

/** What is there before: nothing, one of these shapes, or one that was deleted. */
export type PriorState = 'nothing' | 'live' | 'deleted'

/** `as`: what it is now; `becomes`: what is sent. */
export type WriteCell = { readonly kind: CellKind; readonly before: PriorState; readonly as: string; readonly becomes: string }

/** `name`: where something is written; undefined: where the server says. `json`: undefined for a deletion. `shows`: the answer has a resource. */
export type WriteOutcome = {
  readonly status: number
  readonly wrote?: { readonly name?: string; readonly json?: Json }
  readonly shows?: boolean
}

export type WriteRequest = {
  readonly method: string
  readonly url: string
  readonly resource?: Json
  readonly patch?: Json
  readonly headers?: Readonly<Record<string, string>>
}

/** `id`: of what is there before, and has the tag `key-[id]`; `fresh`: of what is not there. */
export type WriteCase = {
  readonly who: Caller
  readonly id: string
  readonly fresh: string
  readonly population: Population
  readonly cell: WriteCell
}

type Rule = { readonly sent: (asked: WriteCase) => WriteRequest; readonly outcome: (asked: WriteCase) => WriteOutcome }

export const withTags = (json: Json, id: string, mark: string): Json => ({
  ...json,
  id,
  meta: { tag: [mark, `key-${id}`, 'odd'].map((code) => ({ system: 'urn:marks', code })) },
})

const typeOf = ({ cell }: WriteCase): string => SHAPES[cell.as]!.resourceType
const bodyOf = ({ cell, id, fresh }: WriteCase, at = id): Json => withTags(SHAPES[cell.becomes]!, at, `sent-${fresh}`)
const keptOf = (asked: WriteCase): StoredResource | undefined => asked.population.find(asked.who.tenant, `${typeOf(asked)}/${asked.id}`)
const versionOf = (json: Json): OracleVersion => ({ json, about: patientsOf(json, BASE_URL) })
const scoped = (asked: WriteCase, ...letters: readonly ScopeLetter[]): boolean =>
  letters.every((letter) => isInScope(asked.who, typeOf(asked), letter))
const REFUSED: WriteOutcome = { status: 403 }

function may(asked: WriteCase, letter: ScopeLetter, version: OracleVersion, id = asked.id): boolean {
  const { who, population } = asked
  return mayWrite(who, letter, { tenant: who.tenant, type: typeOf(asked), id }, version, population.find)
}

const showsTo = (asked: WriteCase, json: Json, id = asked.id): boolean =>
  maySee(asked.who, 'r', { tenant: asked.who.tenant, type: typeOf(asked), id }, versionOf(json), asked.population.find)

function created(asked: WriteCase, at: string): WriteOutcome {
  const kept = asked.population.find(asked.who.tenant, `${typeOf(asked)}/${at}`)
  if (kept !== undefined && !may(asked, 'c', currentVersionOf(kept)!, at)) return REFUSED
  if (isLive(kept)) return { status: 409 }
  const json = bodyOf(asked, at)
  return may(asked, 'c', versionOf(json), at) ? { status: 201, wrote: { name: `${typeOf(asked)}/${at}`, json }, shows: true } : REFUSED
}

function updated(asked: WriteCase, check: (kept: StoredResource | undefined) => number | undefined = () => undefined): WriteOutcome {
  const kept = keptOf(asked)
  if (kept !== undefined && !may(asked, 'u', currentVersionOf(kept)!)) return REFUSED
  const failed = check(kept)
  if (failed !== undefined) return { status: failed }
  const json = bodyOf(asked)
  if (!may(asked, 'u', versionOf(json))) return REFUSED
  return { status: isLive(kept) ? 200 : 201, wrote: { name: `${typeOf(asked)}/${asked.id}`, json }, shows: true }
}

function patched(asked: WriteCase, change: (json: Json) => Json): WriteOutcome {
  const kept = keptOf(asked)
  const head = currentVersionOf(kept)
  if (kept === undefined || head === undefined) return { status: 404 }
  if (!may(asked, 'u', head)) return maySee(asked.who, 'r', kept, head, asked.population.find) ? REFUSED : { status: 404 }
  if (head.json === undefined) return { status: 404 }
  const json = change(head.json)
  if (!may(asked, 'u', versionOf(json))) return REFUSED
  return { status: 200, wrote: { name: `${typeOf(asked)}/${asked.id}`, json }, shows: showsTo(asked, json) }
}

function deleted(asked: WriteCase): WriteOutcome {
  const kept = keptOf(asked)
  if (kept === undefined) return { status: 204 }
  if (!may(asked, 'd', currentVersionOf(kept)!)) return REFUSED
  return isLive(kept) ? { status: 204, wrote: { name: `${typeOf(asked)}/${asked.id}` } } : { status: 204 }
}

/** Found by its key. */
function isFound(asked: WriteCase): boolean {
  const kept = keptOf(asked)
  return kept !== undefined && mayFind(asked.who, kept, asked.population.find)
}

const ifScoped =
  (letters: readonly ScopeLetter[], outcome: (asked: WriteCase) => WriteOutcome) =>
  (asked: WriteCase): WriteOutcome =>
    scoped(asked, ...letters) ? outcome(asked) : REFUSED

const named = (asked: WriteCase): string => `${typeOf(asked)}/${asked.id}`
const byKey = (asked: WriteCase): string => `${typeOf(asked)}?_tag=key-${asked.id}`
const moved = (json: Json, reference: string): Json => ({
  ...json,
  ...(json.resourceType === 'Device' ? { patient: to(reference) } : { subject: to(reference) }),
})
const placeOf = (asked: WriteCase): string => (typeOf(asked) === 'Device' ? 'patient' : 'subject')
const languaged = (json: Json): Json => ({ ...json, language: 'de' })
const fhirPathPatch = (type: string): Json => ({
  resourceType: 'Parameters',
  parameter: [
    {
      name: 'operation',
      part: [
        { name: 'type', valueCode: 'add' },
        { name: 'path', valueString: type },
        { name: 'name', valueString: 'language' },
        { name: 'value', valueCode: 'de' },
      ],
    },
  ],
})

const languagePatch = [{ op: 'add', path: '/language', value: 'de' }]

export const RULES = {
  create: {
    sent: (asked) => ({ method: 'POST', url: typeOf(asked), resource: bodyOf(asked) }),
    outcome: ifScoped(['c'], (asked) => created(asked, asked.id)),
  },
  update: {
    sent: (asked) => ({ method: 'PUT', url: named(asked), resource: bodyOf(asked) }),
    outcome: ifScoped(['u'], (asked) => updated(asked)),
  },
  'update if it is that': {
    sent: (asked) => ({ method: 'PUT', url: named(asked), resource: bodyOf(asked), headers: { 'if-match': 'W/"7"' } }),
    outcome: ifScoped(['u'], (asked) => updated(asked, () => 412)),
  },
  'update if there is none': {
    sent: (asked) => ({ method: 'PUT', url: named(asked), resource: bodyOf(asked), headers: { 'if-none-match': '*' } }),
    outcome: ifScoped(['u'], (asked) => updated(asked, (kept) => (isLive(kept) ? 412 : undefined))),
  },
  patch: {
    sent: (asked) => ({ method: 'PATCH', url: named(asked), patch: languagePatch }),
    outcome: ifScoped(['u'], (asked) => patched(asked, languaged)),
  },
  'patch by FHIRPath': {
    sent: (asked) => ({ method: 'PATCH', url: named(asked), patch: fhirPathPatch(typeOf(asked)) }),
    outcome: ifScoped(['u'], (asked) => patched(asked, languaged)),
  },
  'patch to another patient': {
    sent: (asked) => ({ method: 'PATCH', url: named(asked), patch: [{ op: 'add', path: `/${placeOf(asked)}`, value: B }] }),
    outcome: ifScoped(['u'], (asked) => patched(asked, (json) => moved(json, 'Patient/b.id'))),
  },
  delete: {
    sent: (asked) => ({ method: 'DELETE', url: named(asked) }),
    outcome: ifScoped(['d'], deleted),
  },
  'create if there is none': {
    sent: (asked) => ({
      method: 'POST',
      url: typeOf(asked),
      resource: bodyOf(asked, asked.fresh),
      headers: { 'if-none-exist': `_tag=key-${asked.id}` },
    }),
    outcome: ifScoped(['c', 's'], (asked) =>
      isFound(asked) ? { status: 200, shows: showsTo(asked, currentVersionOf(keptOf(asked))!.json) } : created(asked, asked.fresh),
    ),
  },
  'update what is found': {
    sent(asked) {
      const { id: _, ...resource } = bodyOf(asked)
      return { method: 'PUT', url: byKey(asked), resource }
    },
    outcome: ifScoped(['u', 's'], (asked) => {
      if (isFound(asked)) return updated(asked)
      const { id: _, ...json } = bodyOf(asked)
      return may(asked, 'u', versionOf(json), 'unknown') ? { status: 201, wrote: { json }, shows: true } : REFUSED
    }),
  },
  'patch what is found': {
    sent: (asked) => ({ method: 'PATCH', url: byKey(asked), patch: languagePatch }),
    outcome: ifScoped(['u', 's'], (asked) => (isFound(asked) ? patched(asked, languaged) : { status: 404 })),
  },
  'delete what is found': {
    sent: (asked) => ({ method: 'DELETE', url: byKey(asked) }),
    outcome: ifScoped(['d', 's'], (asked) => (isFound(asked) ? deleted(asked) : { status: 204 })),
  },
  'create with a reference to what is found': {
    sent: (asked) => ({ method: 'POST', url: 'Observation', resource: derived(asked, byKey(asked)) }),
    outcome: (asked) => {
      const { who, population, fresh } = asked
      if (!isInScope(who, 'Observation', 'c') || !scoped(asked, 's')) return REFUSED
      if (!isFound(asked)) return { status: 412 }
      const json = derived(asked, named(asked))
      const isAllowed = mayWrite(who, 'c', { tenant: who.tenant, type: 'Observation', id: fresh }, versionOf(json), population.find)
      return isAllowed ? { status: 201, wrote: { name: `Observation/${fresh}`, json }, shows: true } : REFUSED
    },
  },
} satisfies Record<string, Rule>

export type CellKind = keyof typeof RULES

const derived = ({ fresh }: WriteCase, reference: string): Json =>
  withTags(lab({ subject: A, focus: [to(reference)] }), fresh, `sent-${fresh}`)

const ofOneType = (a: string, b: string): boolean => SHAPES[a]!.resourceType === SHAPES[b]!.resourceType

/** Every kind of write on, and to, every shape. */
export const CELLS: readonly WriteCell[] = (Object.keys(RULES) as CellKind[]).flatMap((kind) =>
  (['live', 'nothing', 'deleted'] as const).flatMap((before) =>
    Object.keys(SHAPES).flatMap((as) =>
      Object.keys(SHAPES)
        .filter((becomes) => ofOneType(as, becomes) && (before !== 'nothing' || as === becomes))
        .filter((becomes) => kind.startsWith('create') || kind.startsWith('update') || as === becomes)
        .filter((becomes) =>
          kind === 'patch to another patient' ? ['Observation', 'Condition', 'Device'].includes(SHAPES[becomes]!.resourceType) : true,
        )
        .map((becomes): WriteCell => ({ kind, before, as, becomes })),
    ),
  ),
)
