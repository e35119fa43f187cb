/** Resources that come along with matches. https://hl7.org/fhir/R4/search.html#include */
import type { BundleEntry } from '../../fhir/bundle.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import { localReference } from '../../fhir/references.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'
import { resourceTypes } from '../../fhir/resource-types.ts'
import { type Predicate, some } from '../../ports/search/plan.ts'
import type { ResourceKey, ResourceVersion } from '../../ports/store/resource-store.ts'
import { hasCanonical, mayBeCanonical, withoutFragment } from '../../search/canonical.ts'
import { namesOf } from '../../search/fields.ts'
import { remembered } from '../../search/interned-texts.ts'
import type { SearchParameter } from '../../search/parameters.ts'
import type { Searcher } from '../../search/query/condition.ts'
import { followed, type Include } from '../../search/query/include.ts'
import type { FhirRequest } from '../interaction.ts'
import { nameOf } from '../resources/request-key.ts'
import { shownEntry } from '../resources/shown-entry.ts'
import { inHandfuls, othersPass } from '../time-slices.ts'
import { called, namesOfAll } from './canonical-lookup.ts'
import { outcomeEntry, type SearchPorts, versionsOf } from './page-entries.ts'
import { searcherOf } from './request-search-access.ts'

/** Rounds of `:iterate`. */
const DEEPEST = 4
/** Of one match alone. */
const MOST = 10_000

type Included = Map<string, ResourceVersion>

/** Each once, none that is a match. Cut at 10,000, which an entry then says. */
export async function included(
  ports: SearchPorts,
  request: FhirRequest,
  includes: readonly Include[],
  matches: readonly ResourceVersion[],
): Promise<readonly BundleEntry[]> {
  const found: Included = new Map()
  const matched = new Set(matches.map(nameOf))
  const isNew = (name: string): boolean => !found.has(name) && !matched.has(name)
  let round = matches
  for (let depth = 0; depth <= DEEPEST && round.length > 0; depth++) {
    const applied = depth === 0 ? includes : includes.filter(({ iterate }) => iterate)
    const next: Included = new Map()
    for (const version of await comingAlong(ports, request, applied, round))
      if (isNew(nameOf(version)) && found.size + next.size < MOST) next.set(nameOf(version), version)
    for (const [name, version] of next) found.set(name, version)
    round = [...next.values()]
  }
  const entries = [...found.values()].map((version) => shownEntry(request, version, { search: { mode: 'include' } }))
  return found.size < MOST ? entries : [...entries, CUT]
}

/** FhirError 403 where a type is named that is out of scope; those that are only possible are left out. */
export function checkIncludes(searcher: Searcher, includes: readonly Include[]): void {
  for (const { source, target = '*' } of includes) for (const type of [source, target]) if (type !== '*') searcher.within([type])
}

const CUT = outcomeEntry({
  severity: 'warning',
  code: 'too-costly',
  text: `More than ${MOST} resources would be included: the others are left out`,
})

/** Of all includes together: what several of them ask for is read and looked for once. */
async function comingAlong(
  ports: SearchPorts,
  request: FhirRequest,
  includes: readonly Include[],
  round: readonly ResourceVersion[],
): Promise<readonly ResourceVersion[]> {
  const [forward, reverse] = [includes.filter((include) => !include.reverse), includes.filter((include) => include.reverse)]
  return [...(await referred(ports, request, forward, round)), ...(await referring(ports, request, reverse, round))]
}

/** What the resources refer to. */
async function referred(
  ports: SearchPorts,
  request: FhirRequest,
  includes: readonly Include[],
  sources: readonly ResourceVersion[],
): Promise<readonly ResourceVersion[]> {
  const { resources, expressions } = ports
  const { tenant, reading } = request
  const seen = resources(request, 's')
  const keys = new Map<string, ResourceKey>()
  const canonicals = new Map<string, Set<string>>()
  const leadingFrom = remembered(resourceTypes.length, (type) => leading(includes, type, reading))
  for (const { type, body } of sources) {
    const parameters = leadingFrom(type)
    if (parameters.size === 0) continue
    const pause = othersPass()
    if (pause !== undefined) await pause
    const resource = parseJsonBytes(body) as Resource
    for (const { ahead } of parameters.keys()) await ahead?.([resource], expressions)
    for (const [parameter, wanted] of parameters)
      for (const { value } of parameter.values(resource)) {
        const text = isElement(value) ? value.reference : value
        if (typeof text !== 'string') continue
        const name = localReference(text, reading)
        if (name === undefined && text === value) addCanonical(canonicals, text, parameter, wanted)
        if (name === undefined) continue
        const [target = '', id = ''] = name.split('/')
        if (wanted.has(target) || wanted.has(undefined)) keys.set(name, { tenant, type: target, id })
      }
  }
  const heads = await inHandfuls([...keys.values()], (some) => seen.current(some))
  return [
    ...heads.filter((head): head is ResourceVersion => head !== undefined && !head.deleted),
    ...(await called(ports, request, canonicals)),
  ]
}

type Wanted = ReadonlySet<string | undefined>

function addCanonical(found: Map<string, Set<string>>, text: string, { targets }: SearchParameter, wanted: Wanted): void {
  const name = withoutFragment(text)
  const types = targets.filter((type) => hasCanonical(type) && (wanted.has(type) || wanted.has(undefined)))
  if (name !== '' && types.length > 0) found.set(name, (found.get(name) ?? new Set()).union(new Set(types)))
}

/** What refers to the resources. */
async function referring(
  ports: SearchPorts,
  request: FhirRequest,
  includes: readonly Include[],
  targets: readonly ResourceVersion[],
): Promise<readonly ResourceVersion[]> {
  const { tenant, reading } = request
  const searcher = searcherOf(request)
  const names = await namesOfAll(targets)
  const found: ResourceVersion[] = []
  const sources = includes.some(({ source }) => source === '*') ? resourceTypes : [...new Set(includes.map(({ source }) => source))]
  for (const source of sources.length === 0 ? [] : searcher.within(sources)) {
    const where = some(
      ...[...leading(includes, source, reading)].flatMap(([parameter, wanted]): readonly Predicate[] => {
        const { field, targets: possible } = parameter
        const to = targets.filter(({ type }) => possible.includes(type) && (wanted.has(type) || wanted.has(undefined)))
        return [
          ...keyOneOf(field, to.map(nameOf)),
          ...(mayBeCanonical(parameter)
            ? keyOneOf(
                namesOf(field).canonical,
                to.flatMap((target) => names.get(target) ?? []),
              )
            : []),
        ]
      }),
    )
    if (where.kind === 'some' && where.of.length === 0) continue
    // guard: included-resources-need-access
    const matching = { tenant, types: [source], where, access: searcher.rules([source]) }
    const { hits } = await ports.index.find({ ...matching, order: [], limit: MOST - found.length, total: 'none' })
    found.push(...(await versionsOf(ports, request, hits)))
    if (found.length >= MOST) break
  }
  return found
}

const keyOneOf = (field: string, oneOf: readonly string[]): readonly Predicate[] =>
  oneOf.length === 0 ? [] : [{ kind: 'key', field, oneOf }]

/** The parameters of a type that lead to what is included, each with the types it shall lead to; undefined: any. */
function leading(
  includes: readonly Include[],
  type: string,
  { custom }: FhirRequest['reading'],
): ReadonlyMap<SearchParameter, ReadonlySet<string | undefined>> {
  const parameters = new Map<SearchParameter, Set<string | undefined>>()
  for (const include of includes)
    for (const parameter of followed(include, type, custom)) {
      const wanted = parameters.get(parameter) ?? new Set()
      parameters.set(parameter, wanted.add(include.target))
    }
  return parameters
}
