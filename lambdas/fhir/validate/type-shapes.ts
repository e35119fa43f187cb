/** Shapes of the types in definitions/, prepared for validation on first use. */
import compiledInvariants from '../definitions/invariants.json' with { type: 'json' }
import { R4 } from '../definitions/r4.ts'
import type { EvaluationScope } from '../path/branch.ts'
import type { ElementShape } from '../path/definitions.ts'
import { prepareTest } from '../path/steps.ts'
import { isResourceType } from '../resource-types.ts'
import { type AllowedCodes, codesOf } from './codes.ts'
import type { Invariant } from './invariant.ts'
import { type PrimitiveCheck, primitiveCheckOf } from './primitive.ts'

/**
 * Rule for an element. `text`: message for a violation. `holds`: evaluates the rule; the element violates it only if the result is false.
 */
export type Rule = { readonly text: string; readonly holds: (focus: unknown, scope: EvaluationScope) => boolean | undefined }

export type Member = {
  readonly key: string
  readonly type: string
  readonly list: boolean
  /** Shape of the member's type, set on first use. undefined for primitives. */
  shape: CompiledShape | undefined
  /** Format check of a primitive. undefined for other types. */
  readonly primitive: PrimitiveCheck | undefined
  /**
   * Bit of this member in sets of members, for required members and choices. 0 for an optional member that is not a choice. All forms of a
   * choice share one bit.
   */
  readonly bit: number
  readonly choice: string | undefined
  readonly codes: AllowedCodes | 'mime' | undefined
  readonly targets: ReadonlySet<string> | undefined
  readonly rules: readonly Rule[]
  /** For a companion such as `_birthDate`: the primitive whose id and extensions it holds, `birthDate`. undefined for other members. */
  readonly companionOf: string | undefined
}

export type CompiledShape = {
  readonly type: string
  readonly isResource: boolean
  readonly members: ReadonlyMap<string, Member>
  /** Bits of all required members. */
  readonly required: number
  readonly requiredNames: readonly { readonly bit: number; readonly name: string }[]
  readonly rules: readonly Rule[]
  /** Bit of value[x] in Extension, for ext-1; 0 in other types. */
  readonly valueBit: number
}

/** Shapes, read when the module loads: during its start, an AWS function has more processor time than for a request. */
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

/**
 * Whether a primitive cannot have an id or extensions. Ids and extension URLs are attributes in XML, and XHTML is not an element of FHIR.
 * https://hl7.org/fhir/R4/json.html#primitive
 */
const isPlain = (owner: string, { key, type }: Member): boolean =>
  key === 'id' || type === 'xhtml' || (owner === 'Extension' && key === 'url')

class Bits {
  required = 0
  readonly names: { readonly bit: number; readonly name: string }[] = []
  private readonly bits = new Map<string, number>()

  of(name: string, required: boolean): number {
    const existing = this.bits.get(name)
    if (existing !== undefined) return existing
    if (this.bits.size > 31) throw new Error(`More than 32 required members and choices: ${name}`)
    const bit = 1 << this.bits.size
    this.bits.set(name, bit)
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
