/** Cases of US Core: a rule of each kind that its profiles say, broken on its own examples. https://hl7.org/fhir/us/core/STU6.1/ */
import { type Candidate, type Patch, putPatch, removalPatch } from './candidate.ts'
import { type Case, spread } from './cases.ts'
import { definitionAt, type Tree } from './definitions.ts'
import { fixedOrPatternOf, type Holder, holdersOf, type Item, isSlice, lastOf, type Profile, profileOf } from './profile.ts'
import { EXTENSION, extensionOf, sampleOf } from './samples.ts'
import { RECIPES } from './us-core-invariants.ts'

export const US_CORE = 'http://hl7.org/fhir/us/core/StructureDefinition/'

export type ProfiledCase = Case & { readonly profile: string }

type BreakerInput = {
  readonly profile: Profile
  readonly resource: Tree
  readonly typeOf: (url: string) => string
  readonly definitionOf: (url: string) => Profile | undefined
}
type Breaker = (input: BreakerInput, element: Tree) => readonly Candidate[]

/** An id beside what is there changes nothing. */
const patchesOf = ({ path, value }: Item): readonly Patch[] =>
  typeof value === 'object'
    ? [putPatch([...path, 'id'], 'some-id')]
    : [putPatch([...path.slice(0, -1), `_${path.at(-1)}`], { id: 'some-id' })]

const isPlain = ({ path, value }: Item): boolean => typeof value === 'object' || typeof path.at(-1) === 'string'

const present = ({ profile, resource }: BreakerInput, { id }: Tree): readonly Holder[] =>
  id.includes('.') ? holdersOf(profile, id, resource).filter(({ items }) => items.length > 0 && isPlain(items[0]!)) : []

const OTHER: Readonly<Record<string, Tree>> = {
  CodeableConcept: { text: 'some concept' },
  Extension: EXTENSION,
  Identifier: { value: 'some' },
}

const otherItem = ({ type, path }: Tree): Tree | undefined =>
  path === 'Observation.component' ? { code: { text: 'some' }, dataAbsentReason: { text: 'some' } } : OTHER[type?.[0].code]

const missingSlice: Breaker = (input, element) =>
  element.min > 0 && isSlice(element.id) && !element.path.endsWith('[x]')
    ? present(input, element).flatMap(({ path, key, items, value }) => {
        const other = otherItem(element)
        if (other === undefined || items.length !== 1) return []
        const replaced = [putPatch(items[0]!.path, other)]
        const removal = value[key].length > 1 ? [removalPatch(items[0]!.path)] : replaced
        const neighbour = [putPatch([...path, key, value[key].length], other)]
        return [
          { kind: 'gone', element: element.id, break: removal, neighbour },
          { kind: 'another instead', element: element.id, break: replaced, neighbour: patchesOf(items[0]!) },
        ]
      })
    : []

const sliceMax: Breaker = (input, element) =>
  element.max === '1' && isSlice(element.id) && !element.path.endsWith('[x]')
    ? present(input, element).flatMap(({ path, key, items, value }) => {
        const other = otherItem(element)
        const next = [...path, key, value[key].length]
        return other === undefined
          ? []
          : [{ kind: 'twice', element: element.id, break: [putPatch(next, items[0]!.value)], neighbour: [putPatch(next, other)] }]
      })
    : []

const required: Breaker = (input, element) =>
  element.min > 0 && element.base?.min === 0 && !isSlice(element.id) && !isOptional(input, element)
    ? present(input, element).map(({ path, key, items }) => ({
        kind: 'gone',
        element: element.id,
        break: [removalPatch([...path, key])],
        neighbour: patchesOf(items[0]!),
      }))
    : []

/** Within a slice that may be missing: what is not as it says is of no slice. */
const isOptional = ({ profile }: BreakerInput, { id }: Tree): boolean =>
  profile.elements.some((each) => each.min === 0 && isSlice(each.id) && (each.id === id || id.startsWith(`${each.id}.`)))

const fixedOrPattern: Breaker = (input, element) => {
  const expected = fixedOrPatternOf(element)
  if (expected === undefined || isOptional(input, element)) return []
  return present(input, element).map(({ items: [item] }) => ({
    kind: typeof expected === 'string' ? 'a text' : 'an object',
    element: element.id,
    break: [
      putPatch(
        item!.path,
        typeof expected === 'string' ? `${expected}x` : { coding: [{ system: 'http://example.org/codes', code: 'other' }] },
      ),
    ],
    neighbour: patchesOf(item!),
  }))
}

/** Choices of the resource itself whose types the profile narrows. */
const type: Breaker = (input, element) => {
  const { profile } = input
  if (!element.path.endsWith('[x]') || isSlice(element.id) || element.path.split('.').length !== 2) return []
  const allowed = element.type.map(({ code }: Tree) => code)
  const others = definitionAt(element.path)
    .types.map(({ code }) => code)
    .filter((code) => !allowed.includes(code) && sampleOf(code) !== undefined)
  return present(input, element).flatMap(({ path, key, items }) =>
    others.slice(0, 4).map((code) => ({
      kind: `${lastOf(element.path)} ${code}`,
      element: `${profile.type}.${key}`,
      break: [removalPatch([...path, key]), putPatch([...path, formOf(element.path, code)], sampleOf(code))],
      neighbour: patchesOf(items[0]!),
    })),
  )
}

const formOf = (path: string, code: string): string => `${lastOf(path).slice(0, -3)}${code[0]!.toUpperCase()}${code.slice(1)}`

const choice: Breaker = (input, element) => {
  if (!element.path.endsWith('[x]') || isSlice(element.id) || element.path.split('.').length !== 2) return []
  return present(input, element).flatMap(({ path, key, items }) =>
    definitionAt(element.path)
      .types.map(({ code }) => code)
      .filter((code) => sampleOf(code) !== undefined && formOf(element.path, code) !== key)
      .slice(0, 3)
      .map((code) => ({
        kind: `${lastOf(element.path)} ${code}`,
        element: element.id,
        break: [putPatch([...path, formOf(element.path, code)], sampleOf(code))],
        neighbour: patchesOf(items[0]!),
      })),
  )
}

const binding: Breaker = (input, element) => {
  if (element.binding?.strength !== 'required') return []
  return present(input, element).flatMap(({ items: [item] }) => {
    const invalid = { system: 'http://example.org/codes', code: 'no-such-code' }
    const code = element.type?.[0].code
    const broken =
      code === 'code' ? 'no-such-code' : code === 'CodeableConcept' ? { coding: [invalid] } : code === 'Coding' ? invalid : undefined
    return broken === undefined
      ? []
      : [{ kind: code, element: element.id, break: [putPatch(item!.path, broken)], neighbour: patchesOf(item!) }]
  })
}

const referenceTarget: Breaker = (input, element) => {
  const reference = element.type?.find(({ code }: Tree) => code === 'Reference')
  const targets: readonly string[] = (reference?.targetProfile ?? []).map(input.typeOf)
  if (targets.length === 0 || targets.includes('Resource') || element.path.endsWith('[x]')) return []
  const inR4 = definitionAt(element.path)?.types.flatMap((each) => each.targets) ?? []
  const invalid = [...inR4.filter((each) => each !== 'Resource' && !targets.includes(each)).slice(0, 1), 'Basic']
  return present(input, element).flatMap(({ items: [item] }) =>
    invalid.map((each) => ({
      kind: each === 'Basic' ? 'a type R4 does not allow' : 'a type R4 allows',
      element: element.id,
      break: [putPatch(item!.path, { reference: `${each}/some-id` })],
      neighbour: [putPatch(item!.path, { reference: `${targets[0]}/some-id` })],
    })),
  )
}

/** What the definition of an extension that stands on the element says of its parts and its value. */
const ownProfile: Breaker = (input, element) => {
  const url = element.type?.[0].profile?.[0]
  const definition = element.type?.[0].code === 'Extension' && url !== undefined ? input.definitionOf(url) : undefined
  if (definition === undefined || !isSlice(element.id)) return []
  return present(input, element).flatMap(({ items: [item] }) => withinExtension(definition, item!))
}

function withinExtension({ elements, name }: Profile, item: Item): readonly Candidate[] {
  const extension = item.value as Tree
  const key = Object.keys(extension).find((each) => each.startsWith('value'))
  const neighbour = patchesOf(item)
  const row = (kind: string, patches: readonly Patch[]): Candidate => ({ kind, element: `${name} ${kind}`, break: patches, neighbour })
  if (key !== undefined) {
    const invalid = key === 'valueString' ? 'Integer' : 'String'
    return [
      row('value of another type', [
        removalPatch([...item.path, key]),
        putPatch([...item.path, `value${invalid}`], invalid === 'String' ? 'some text' : 5),
      ]),
      row('no value', [removalPatch([...item.path, key])]),
      row('a part beside the value', [putPatch([...item.path, 'extension'], [EXTENSION])]),
    ]
  }
  const parts: readonly Tree[] = extension.extension ?? []
  return elements
    .filter(({ path, sliceName }) => path === 'Extension.extension' && sliceName !== undefined)
    .flatMap(({ sliceName, min, max }) => {
      const at = parts.findIndex(({ url }) => url === sliceName)
      if (at < 0) return []
      const part = parts[at]!
      const value = Object.keys(part).find((each) => each.startsWith('value'))!
      return [
        ...(min > 0 ? [row(`${sliceName} gone`, [removalPatch([...item.path, 'extension', at])])] : []),
        ...(max === '1' ? [row(`${sliceName} twice`, [putPatch([...item.path, 'extension', parts.length], part)])] : []),
        row(`${sliceName} of another type`, [
          putPatch([...item.path, 'extension', at], { ...extensionOf(value === 'valueBoolean' ? 'integer' : 'boolean'), url: sliceName }),
        ]),
        row(`${sliceName} without value`, [removalPatch([...item.path, 'extension', at, value])]),
      ]
    })
}

const invariant: Breaker = (input, element) => {
  const keys: readonly string[] = (element.constraint ?? [])
    .filter(({ severity }: Tree) => severity === 'error')
    .map(({ key }: Tree) => key)
  const isRoot = !element.id.includes('.')
  const choices = element.path.endsWith('[x]') || isRoot
  const focus: readonly Item[] = choices ? [{ path: [], value: input.resource }] : present(input, element).flatMap(({ items }) => items)
  return keys.flatMap((key) =>
    (isIneffective(key, element, input) ? [] : (RECIPES[key] ?? [])).flatMap(([breaks, holds]) =>
      focus.slice(0, 1).map(({ path, value }) => ({
        kind: key,
        element: element.id,
        break: changes(path, breaks(value as Tree), value as Tree),
        neighbour: changes(path, holds(value as Tree), value as Tree),
      })),
    ),
  )
}

/** us-core-3 speaks of the value of a value; a blood pressure has to have components. */
const isIneffective = (key: string, { path }: Tree, { resource }: BreakerInput): boolean =>
  (key === 'us-core-3' && path.includes('.')) || (key === 'vs-2' && resource.component !== undefined)

const changes = (path: Item['path'], change: Tree, value: Tree): readonly Patch[] =>
  Object.entries(change)
    .filter(([name, each]) => each !== undefined || name in value)
    .map(([name, each]) => (each === undefined ? removalPatch([...path, name]) : putPatch([...path, name], each)))

const KINDS: Readonly<Record<string, Breaker>> = {
  'missing slice': missingSlice,
  'slice max': sliceMax,
  required,
  'fixed or pattern': fixedOrPattern,
  type,
  choice,
  binding,
  'reference target': referenceTarget,
  "extension's own profile": ownProfile,
  invariant,
}

/** Of each kind of rule. */
const COUNT = 16

/** `definitions`: the StructureDefinitions of US Core. `seeds`: its examples, by type and id, without what they say of themselves. */
export function profiledCases(
  definitions: readonly Tree[],
  seeds: readonly (readonly [seed: string, profile: string, resource: Tree])[],
): readonly ProfiledCase[] {
  const byUrl = new Map(definitions.map((each) => [each.url, profileOf(each)]))
  const typeOf = (url: string): string => byUrl.get(url)?.type ?? lastOf(url.replaceAll('/', '.'))
  return Object.entries(KINDS).flatMap(([category, breaker]) => {
    const candidates = seeds.flatMap(([seed, url, resource]) => {
      const profile = byUrl.get(url)!
      const input = { profile, resource, typeOf, definitionOf: (each: string) => byUrl.get(each) }
      return profile.elements
        .flatMap((element) => breaker(input, element))
        .map((each) => ({ category, seed, profile: url.slice(US_CORE.length), ...each }))
    })
    return spread(candidates, COUNT)
  })
}
