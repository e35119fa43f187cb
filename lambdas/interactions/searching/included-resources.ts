/** Reads the resources that a page includes with its matches, by _include and _revinclude. https://hl7.org/fhir/R4/search.html#include */
import { searchContextUnder } from '../../access/view/view-rules.ts'
import type { BundleEntry } from '../../fhir/bundle.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import { toLocalReference } from '../../fhir/references.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'
import { resourceTypes } from '../../fhir/resource-types.ts'
import { or, type Predicate } from '../../ports/search/plan.ts'
import type { ResourceKey, ResourceVersion } from '../../ports/store/resource-store.ts'
import { hasCanonical, mayBeCanonical, withoutFragment } from '../../search/canonical.ts'
import { namesOf } from '../../search/fields.ts'
import { cacheByText } from '../../search/interned-texts.ts'
import type { SearchParameter } from '../../search/parameters.ts'
import type { SearchAccess } from '../../search/query/condition.ts'
import { isHiddenParameter } from '../../search/query/hidden-parameters.ts'
import { type Include, referenceParametersOf } from '../../search/query/include.ts'
import type { FhirRequest } from '../interaction.ts'
import { nameOf } from '../resources/request-key.ts'
import { withSharedDefinitions } from '../resources/shared-definitions.ts'
import { shownEntry } from '../resources/shown-entry.ts'
import { yieldIfDue } from '../time-slices.ts'
import { type ReadVersions, readUpTo } from './bounded-reads.ts'
import { canonicalsOfVersions, findByCanonical } from './canonical-lookup.ts'
import { type PagePorts, versionsOf } from './page-entries.ts'
import { searchAccessOf } from './request-search-access.ts'

/** Maximum rounds of `:iterate`. Resources that only a further round would reach are not included. */
const DEEPEST = 4
/** Minimum keys per read, even if fewer resources may still be included, because many of the keys may have no resource. */
const FEWEST = 100
/** Maximum keys that one call of `add` reads, because a page may refer to many missing resources. If there are more, the result is cut. */
const MOST_READ = 10_000

/** Limits of the included resources of a page. `most`: number of resources. `room`: bytes of their bodies. */
type Limits = { readonly most: number; readonly room: number }

/** Returns the included resources, each once and without the matches. `isCut`: whether a limit was reached, so that some are missing. */
export async function readIncludedEntries(
  ports: PagePorts,
  request: FhirRequest,
  includes: readonly Include[],
  matches: readonly ResourceVersion[],
  limits: Limits,
): Promise<{ readonly entries: readonly BundleEntry[]; readonly isCut: boolean }> {
  const found = new Included(matches, limits)
  let round = matches
  for (let depth = 0; depth <= DEEPEST && round.length > 0; depth++) {
    const before = found.versions.length
    const applied = depth === 0 ? includes : includes.filter(({ iterate }) => iterate)
    await addReferred(
      ports,
      request,
      applied.filter(({ reverse }) => !reverse),
      round,
      found,
    )
    await addReferring(
      ports,
      request,
      applied.filter(({ reverse }) => reverse),
      round,
      found,
    )
    round = found.isCut ? [] : found.versions.slice(before)
  }
  const entries = found.versions.map((version) => shownEntry(request, version, { search: { mode: 'include' } }))
  return { entries, isCut: found.isCut }
}

/** Collects included resources. Skips those that the page already has. A resource that exceeds a limit sets `isCut`. */
class Included {
  readonly versions: ResourceVersion[] = []
  isCut = false
  readonly #names: Set<string>
  readonly #most: number
  #room: number

  constructor(matches: readonly ResourceVersion[], { most, room }: Limits) {
    this.#names = new Set(matches.map(nameOf))
    this.#most = most
    this.#room = room
  }

  /** Number of resources that may still be included. */
  get vacant(): number {
    return this.#most - this.versions.length
  }

  /** Adds the resources of the keys within the limits. Missing and hidden resources take no place. */
  async add<Key extends Named>(keys: readonly Key[], read: ReadVersions<Key>): Promise<void> {
    const all = keys.filter((key) => !this.#names.has(nameOf(key)))
    const wanted = all.slice(0, MOST_READ)
    this.isCut ||= wanted.length < all.length
    for (let at = 0; at < wanted.length; ) {
      const versions = await readUpTo(this.#room, wanted.slice(at, at + Math.max(this.vacant, FEWEST)), read)
      at += versions.length
      if (versions.length === 0 || !versions.every((version) => this.#take(version))) {
        this.isCut = true
        return
      }
    }
  }

  /** Adds the version, unless it is missing or deleted. Returns false if it exists but exceeds a limit. */
  #take(version: ResourceVersion | undefined): boolean {
    if (version === undefined || version.deleted) return true
    this.#room -= version.body.length
    if (this.vacant === 0 || this.#room < 0) return false
    this.#names.add(nameOf(version))
    this.versions.push(version)
    return true
  }
}

type Named = Pick<ResourceKey, 'type' | 'id'>

/**
 * Throws FhirError 403 if an include names a type out of scope. An include that reaches such a type without naming it skips its resources.
 */
export function checkIncludes(searcher: SearchAccess, includes: readonly Include[]): void {
  for (const { source, target = '*' } of includes) for (const type of [source, target]) if (type !== '*') searcher.within([type])
}

/** Adds the resources that `sources` refer to. Processes all includes together, so that each resource is read once. */
async function addReferred(
  ports: PagePorts,
  request: FhirRequest,
  includes: readonly Include[],
  sources: readonly ResourceVersion[],
  found: Included,
): Promise<void> {
  const { resources, expressions } = ports
  const { tenant, reading } = request
  const seen = resources(request, 's')
  const keys = new Map<string, ResourceKey>()
  const canonicals = new Map<string, Set<string>>()
  const leadingFrom = cacheByText(resourceTypes.length, (type) => leading(includes, type, request))
  for (const { type, body } of sources) {
    const parameters = leadingFrom(type)
    if (parameters.size === 0) continue
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
    const resource = parseJsonBytes(body) as Resource
    for (const { ahead } of parameters.keys()) await ahead?.([resource], expressions)
    for (const [parameter, wanted] of parameters)
      for (const { value } of parameter.values(resource)) {
        const text = isElement(value) ? value.reference : value
        if (typeof text !== 'string') continue
        const name = toLocalReference(text, reading)
        if (name === undefined && text === value) addCanonical(canonicals, text, parameter, wanted)
        if (name === undefined) continue
        const [target = '', id = ''] = name.split('/')
        if (wanted.has(target) || wanted.has(undefined)) keys.set(name, { tenant, type: target, id })
      }
  }
  await found.add([...keys.values()], withSharedDefinitions(request, seen).current)
  const { hits, read } = await findByCanonical(ports, request, canonicals)
  await found.add(hits, read)
}

type Wanted = ReadonlySet<string | undefined>

function addCanonical(found: Map<string, Set<string>>, text: string, { targets }: SearchParameter, wanted: Wanted): void {
  const name = withoutFragment(text)
  const types = targets.filter((type) => hasCanonical(type) && (wanted.has(type) || wanted.has(undefined)))
  if (name !== '' && types.length > 0) found.set(name, (found.get(name) ?? new Set()).union(new Set(types)))
}

/** Adds the resources that refer to `targets`. Searches each type once, for all includes together. */
async function addReferring(
  ports: PagePorts,
  request: FhirRequest,
  includes: readonly Include[],
  targets: readonly ResourceVersion[],
  found: Included,
): Promise<void> {
  const { tenant } = request
  const searcher = searchAccessOf(request)
  const names = await canonicalsOfVersions(targets)
  const sources = includes.some(({ source }) => source === '*') ? resourceTypes : [...new Set(includes.map(({ source }) => source))]
  for (const source of sources.length === 0 ? [] : searcher.within(sources)) {
    if (found.isCut) return
    const where = or(
      ...[...leading(includes, source, request)].flatMap(([parameter, wanted]): readonly Predicate[] => {
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
    const { hits, more } = await ports.index.find({ ...matching, order: [], limit: found.vacant + 1, total: 'none' })
    await found.add(hits, (some, room) => versionsOf(ports, request, some, room))
    found.isCut ||= more
  }
}

const keyOneOf = (field: string, oneOf: readonly string[]): readonly Predicate[] =>
  oneOf.length === 0 ? [] : [{ kind: 'key', field, oneOf }]

/**
 * Returns the reference parameters of a type that the includes name, each with its wanted target types. A target type undefined stands for
 * all types.
 */
function leading(
  includes: readonly Include[],
  type: string,
  { access: { view }, reading }: Pick<FhirRequest, 'access' | 'reading'>,
): ReadonlyMap<SearchParameter, ReadonlySet<string | undefined>> {
  const { custom, hiddenPaths } = searchContextUnder(view, reading)
  const parameters = new Map<SearchParameter, Set<string | undefined>>()
  for (const include of includes)
    for (const parameter of referenceParametersOf(include, type, custom)) {
      // guard: include-follows-no-hidden-reference
      if (hiddenPaths !== undefined && isHiddenParameter(hiddenPaths, type, parameter)) continue
      const wanted = parameters.get(parameter) ?? new Set()
      parameters.set(parameter, wanted.add(include.target))
    }
  return parameters
}
