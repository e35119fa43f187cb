/** The shapes of definitions/, made ready for the walk when a type is first met. */
import compiledInvariants from '../definitions/invariants.json' with { type: 'json' }
import { R4 } from '../definitions/r4.ts'
import type { EvaluationScope } from '../path/branch.ts'
import type { ElementShape } from '../path/definitions.ts'
import { prepareTest } from '../path/steps.ts'
import { isResourceType } from '../resource-types.ts'
import { type AllowedCodes, codesOf } from './codes.ts'
import type { Invariant } from './invariant.ts'
import { type PrimitiveCheck, primitiveCheckOf } from './primitive.ts'

/** A rule to hold at a focus. */
export type Rule = { readonly text: string; readonly holds: (focus: unknown, scope: EvaluationScope) => boolean | undefined }

export type Member = {
  readonly key: string
  readonly type: string
  readonly list: boolean
  /** Of its type, when it was met. */
  shape: CompiledShape | undefined
  /** Of a primitive: its format. */
  readonly primitive: PrimitiveCheck | undefined
  /** Which bit of the seen and required members this is; 0 for one that may be left out. All forms of a choice share theirs. */
  readonly bit: number
  readonly choice: string | undefined
  readonly codes: AllowedCodes | 'mime' | undefined
  readonly targets: ReadonlySet<string> | undefined
  readonly rules: readonly Rule[]
  /** Of `_birthDate`: birthDate, whose extensions it holds. */
  readonly companionOf: string | undefined
}

export type CompiledShape = {
  readonly type: string
  readonly isResource: boolean
  readonly members: ReadonlyMap<string, Member>
  /** The bits of the members that must be there. */
  readonly required: number
  readonly requiredNames: readonly { readonly bit: number; readonly name: string }[]
  readonly rules: readonly Rule[]
  /** Of Extension: the bit of value[x], for ext-1. */
  readonly valueBit: number
}

/** Read as this loads: what a function does before its first request has more of a processor. */
const { shapes } = R4

const LIVE = new Map<string, CompiledShape>()

export function shapeOf(type: string): CompiledShape {
  let shape = LIVE.get(type)
  if (shape === undefined) {
    shape = enliven(type)
    LIVE.set(type, shape)
  }
  return shape
}

function enliven(type: string): CompiledShape {
  const { elements, required: requiredChoices = [] } = shapes[type]!
  const bits = new Bits()
  const members = new Map<string, Member>()
  for (const [key, element] of Object.entries(elements)) {
    const { choice, min = 0 } = element
    const bit = choice !== undefined ? bits.of(choice, requiredChoices.includes(choice)) : min > 0 ? bits.of(key, true) : 0
    const member = memberOf(type, key, element, bit)
    members.set(key, member)
    if (member.primitive !== undefined && !isPlain(type, member)) members.set(`_${key}`, { ...member, companionOf: key })
  }
  const { required, names } = bits
  const isResource = isResourceType(type)
  return {
    type,
    isResource,
    members,
    required,
    requiredNames: names,
    rules: rulesAt(type),
    valueBit: type === 'Extension' ? bits.of('value', false) : 0,
  }
}

/** Ids, and urls of extensions, are attributes in XML, and XHTML is no element of FHIR: they have no extensions. https://hl7.org/fhir/R4/json.html#primitive */
const isPlain = (owner: string, { key, type }: Member): boolean =>
  key === 'id' || type === 'xhtml' || (owner === 'Extension' && key === 'url')

class Bits {
  required = 0
  readonly names: { readonly bit: number; readonly name: string }[] = []
  private readonly known = new Map<string, number>()

  of(name: string, required: boolean): number {
    const known = this.known.get(name)
    if (known !== undefined) return known
    if (this.known.size > 31) throw new Error(`More than 32 required members and choices: ${name}`)
    const bit = 1 << this.known.size
    this.known.set(name, bit)
    if (required) {
      this.required |= bit
      this.names.push({ bit, name })
    }
    return bit
  }
}

function memberOf(owner: string, key: string, { type, list = false, choice, codes, targets }: ElementShape, bit: number): Member {
  return {
    key,
    type,
    list,
    shape: undefined,
    primitive: primitiveCheckOf(type),
    bit,
    choice,
    codes: typeof codes === 'number' ? codesOf(R4.codeSets[codes]!) : codes,
    targets: targets === undefined ? undefined : new Set(R4.targets[targets]),
    rules: shapes[`${owner}.${key}`] === undefined ? rulesAt(`${owner}.${key}`) : [],
    companionOf: undefined,
  }
}

const INVARIANTS = new Map(Object.entries(compiledInvariants as unknown as Readonly<Record<string, readonly Invariant[]>>))

const rulesAt = (path: string): readonly Rule[] =>
  (INVARIANTS.get(path) ?? []).map(({ key, human, test }) => ({ text: `${human} (${key})`, holds: prepareTest(test) }))
