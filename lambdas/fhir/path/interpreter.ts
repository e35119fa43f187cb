/**
 * Evaluation by fhirpath.js of expressions that the compiler rejects. fhirpath.js supports all of FHIRPath, but is large and many times
 * slower. It is loaded when first needed. http://hl7.org/fhirpath/N1/
 */
import { R4 } from '../definitions/r4.ts'
import { decimalTextOf, isDecimal } from '../json.ts'
import { type Element, isElement } from '../resource.ts'
import { isResourceType } from '../resource-types.ts'
import { type ConformanceTest, clientFunctions, type EvaluationState } from './client-functions.ts'
import { maskInheritedNames } from './inherited-names.ts'
import { correctAddition } from './interpreting/date-arithmetic.ts'
import { LocalReferenceResolver } from './interpreting/resolution.ts'
import { createMemberLookup, type MemberLookup } from './members.ts'
import { targetTypeOf } from './reference-type.ts'
import type { TypedValue } from './steps.ts'
import { CHARACTERS_PER_ITEM, MAX_WORK_ITEMS, spendWork } from './work-budget.ts'

/**
 * Returns the values of an expression at an element. `resource`: value of %resource. Throws TooCostly for more than a million values; the
 * length of texts counts too.
 */
export type Interpreter = (focus: unknown, resource: Element, conforms?: ConformanceTest) => readonly InterpretedValue[]

/** Value of an expression. `place`: its location, if it is a primitive of the resource and `isShown` is set. */
export type InterpretedValue = TypedValue & { readonly place?: PrimitiveLocation }
/** Location of a primitive: the element that holds it, its key, and an index if the key holds a list. */
export type PrimitiveLocation = { readonly owner: object; readonly key: string; readonly index?: number }

/**
 * `isShown`: the evaluation is for the client that sent the resource. Values then have locations, and resolve() finds nothing outside of
 * the resource.
 */
export type InterpreterOptions = { readonly isShown?: boolean }

type Engine = Awaited<ReturnType<typeof engineOf>>

let engine: Engine | undefined
let loading: Promise<void> | undefined

export function loadInterpreter(): Promise<void> {
  loading ??= engineOf().then((loaded) => {
    engine = loaded
  })
  return loading
}

async function engineOf() {
  const [{ default: fhirpath }, { default: model }] = await Promise.all([import('fhirpath'), import('fhirpath/fhir-context/r4')])
  const [moment] = fhirpath.evaluate({}, '@2000', {}, undefined, { resolveInternalTypes: false } as never) as [object]
  correctAddition(moment)
  return { ...fhirpath, model }
}

/** Returns the reason why an expression cannot be used, as a message for its author. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error) || error instanceof TypeError) return 'it is no FHIRPath'
  // Remove the list of all tokens that the parser expected.
  return error.message.replace(/ expecting \{[\s\S]*$/, '').slice(0, 200)
}

/**
 * Creates the interpreter of an expression on a FHIR type or the path of a backbone element. Call loadInterpreter before. Throws if the
 * expression is invalid.
 */
export function createInterpreter(expression: string, type: string, { isShown = false }: InterpreterOptions = {}): Interpreter {
  if (engine === undefined) throw new Error('fhirpath.js is not loaded')
  const { compile, types, util, model } = engine
  let resolution: LocalReferenceResolver
  let current: EvaluationState
  const resolve = {
    fn: (nodes: readonly Node[]) => nodes.flatMap((node) => resolved(node, resolution, isShown)),
    arity: { 0: [] },
    internalStructures: true,
  }
  const options = { ...OPTIONS, userInvocationTable: { resolve, ...(isShown ? clientFunctions(() => current) : {}) } }
  const canonicals = canonicalsIn(expression)
  const namesRoot = expression.includes('%rootResource')
  const source = maskInheritedNames(expression)
  const evaluate = compile(isResourceType(type) ? source : { base: type, expression: source }, model as never, options as never) as Compiled
  return (focus, resource, conforms) => {
    const originals = new Map<unknown, unknown>()
    current = { originals, ...(conforms === undefined ? {} : { conforms }) }
    const copy = copied(focus, originals)
    const root = focus === resource ? copy : copied(resource, originals)
    resolution = new LocalReferenceResolver(root as Element)
    // %rootResource is the container of a contained resource, which is %resource.
    const own = isElement(focus) && typeof focus.resourceType === 'string' ? copy : root
    const found = evaluate(copy, { ...canonicals, resource: namesRoot ? own : root, rootResource: root })
    const names = types(found)
    const work = { left: MAX_WORK_ITEMS }
    return found.flatMap((item, i) => {
      const value = plain(util.valData(item), originals)
      // A computed text may be too long to process, so each 64 characters cost as much as a value.
      spendWork(work, typeof value === 'string' ? value.length / CHARACTERS_PER_ITEM : 1)
      const place = isShown ? locationOf(item, originals) : undefined
      // Skip undefined values, and functions that JavaScript texts and numbers inherit.
      if (typeof value === 'function' || (value === undefined && place === undefined)) return []
      return [{ type: fhirTypeOf(names[i]!, item), value, ...systemOf(names[i]!, item), ...(place === undefined ? {} : { place }) }]
    })
  }
}

/** Node of fhirpath.js: an element with its type. Its class creates further nodes. */
type Node = {
  readonly data: unknown
  readonly path?: string | null
  readonly propName?: string
  readonly index?: number | null
  readonly fhirNodeDataType?: string | null
  readonly parentResNode?: Node | null
  readonly ctx: unknown
  readonly constructor: { readonly makeResNode: (...parts: readonly unknown[]) => Node }
}
type Compiled = (focus: unknown, environment: Readonly<Record<string, unknown>>) => readonly unknown[]

const OPTIONS = { async: false, preciseMath: true, resolveInternalTypes: false, traceFn: () => undefined }

/** Returns the resource that a node refers to. Without `isShown`, a resource that is not contained is represented by its type alone. */
function resolved(
  { data, parentResNode, ctx, constructor: nodes }: Node,
  resolution: LocalReferenceResolver,
  isShown: boolean,
): readonly Node[] {
  const element = typeof data === 'string' ? parentResNode?.data : data
  const reference = typeof data === 'string' ? data : (data as Element | null)?.reference
  const found = typeof reference === 'string' && (isShown || reference.startsWith('#')) ? resolution.find(reference, element) : undefined
  const resourceType = found === undefined && !isShown ? targetTypeOf(data, resolution.containerOf(element)) : undefined
  if (found === undefined && resourceType === undefined) return []
  return [nodes.makeResNode(ctx, found ?? { resourceType }, null, null, null, null)]
}

/** Returns the location of a primitive of the resource, or undefined for any other item. */
function locationOf(item: unknown, originals: ReadonlyMap<unknown, unknown>): PrimitiveLocation | undefined {
  const { propName, parentResNode, index, fhirNodeDataType: type, data } = (item ?? {}) as Partial<Node>
  const owner = originals.get(parentResNode?.data)
  if (!isElement(owner) || typeof propName !== 'string' || originals.has(data)) return undefined
  const choice = `${propName}${(type ?? '').charAt(0).toUpperCase()}${(type ?? '').slice(1)}`
  const has = (key: string): boolean => Object.hasOwn(owner, key) || Object.hasOwn(owner, `_${key}`)
  const key = [propName, choice].find(has)
  return key === undefined ? undefined : { owner, key, ...(typeof index === 'number' ? { index } : {}) }
}

/**
 * Returns the environment variables that HL7 defines: %sct, %loinc, and the %vs-NAME and %ext-NAME of the expression.
 * https://hl7.org/fhir/R4/fhirpath.html#vars
 */
function canonicalsIn(expression: string): Readonly<Record<string, string>> {
  const canonicals = [...expression.matchAll(/%[`'"](vs|ext)-([\w.-]+)[`'"]/g)].map(([, kind, name]) => [
    `${kind}-${name}`,
    `http://hl7.org/fhir/${kind === 'vs' ? 'ValueSet' : 'StructureDefinition'}/${name}`,
  ])
  return { sct: 'http://snomed.info/sct', loinc: 'http://loinc.org', ...Object.fromEntries(canonicals) }
}

/** Returns a copy for fhirpath.js, which changes its input and has its own decimals. Maps each copy to its original in `originals`. */
function copied(tree: unknown, originals: Map<unknown, unknown>): unknown {
  if (typeof tree === 'string') return isDecimal(tree) ? engine!.FP_Decimal.getDecimal(decimalTextOf(tree)) : tree
  if (typeof tree !== 'object' || tree === null) return tree
  const copy = Array.isArray(tree)
    ? tree.map((each) => copied(each, originals))
    : Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, copied(value, originals)]))
  originals.set(copy, tree)
  return copy
}

/** Returns an element of the resource as the original, and a computed value as JSON. */
function plain(value: unknown, originals: ReadonlyMap<unknown, unknown>): unknown {
  if (typeof value === 'bigint') return exact(String(value))
  if (typeof value !== 'object' || value === null) return value ?? undefined
  if (originals.has(value)) return originals.get(value)
  const { asStr, unit } = value as { readonly asStr?: unknown; readonly unit?: unknown }
  if (value instanceof engine!.FP_Decimal) return exact(value.toString())
  if (typeof unit === 'string') return quantity(unit, (value as { readonly value?: unknown }).value)
  return typeof asStr === 'string' ? asStr : value
}

/** Returns a number, or a preserved decimal if a double would change the text. */
function exact(text: string): number | string {
  const number = Number(text)
  return Number.isFinite(number) && String(number) !== text && JSON_NUMBER.test(text) ? `\u0000${text}` : number
}
/** Number as JSON writes it. `toDecimal()` also accepts `+1` and `007`, which are no JSON numbers. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i

/** Returns a FHIR Quantity. A quoted unit of a literal is a UCUM code. http://hl7.org/fhirpath/N1/#quantity */
function quantity(unit: string, value: unknown): object {
  const code = unit.replace(/^'|'$/g, '')
  return { value: exact(String(value)), unit: code, ...(code === unit ? {} : { system: 'http://unitsofmeasure.org', code }) }
}

/** Returns the FHIR type for `FHIR.HumanName` or `System.String`. A backbone element is named by its path. */
function fhirTypeOf(name: string, item: unknown): string {
  const [namespace = '', type = ''] = name.split('.')
  if (namespace === 'System' && type !== 'Quantity') return type.charAt(0).toLowerCase() + type.slice(1)
  const path = (item as Partial<Node> | null)?.path
  return (type === 'BackboneElement' || type === 'Element') && typeof path === 'string' ? path : type
}

/** Lookup of members, created on first use. */
let lookup: MemberLookup | undefined
function membersOf(type: string, name: string): ReturnType<MemberLookup> {
  lookup ??= createMemberLookup(R4)
  return lookup(type, name)
}

/** Returns the code system of a code, if its binding allows only one. */
function systemOf(name: string, item: unknown): Pick<TypedValue, 'system'> {
  const { propName, parentResNode } = (item ?? {}) as Partial<Node>
  if (name !== 'FHIR.code' || propName === undefined || typeof parentResNode?.path !== 'string') return {}
  const system = membersOf(parentResNode.path, propName)[0]?.system
  return system === undefined ? {} : { system }
}
