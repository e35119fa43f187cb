/** JSON Patch on a resource, by fast-json-patch. https://www.rfc-editor.org/rfc/rfc6902 */
import jsonpatch, { type Operation } from 'fast-json-patch'
import { checkDepth, copyBounded } from './bounded-copy.ts'
import { decimalTextOf, isDecimal, MAX_JSON_DEPTH } from './json.ts'
import { type FhirError, fhirError } from './outcome.ts'
import type { WorkBudget } from './path/work-budget.ts'
import { type Element, isElement, type Resource } from './resource.ts'

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'copy' | 'move'; readonly path: string; readonly from: string }
  | { readonly op: 'remove'; readonly path: string }

/** Parses the operations of a patch, without a resource. Throws FhirError 400 with the location of a malformed operation. */
export const readJsonPatch = (document: readonly unknown[]): readonly JsonPatchOperation[] => document.map(readOperation)

function readOperation(operation: unknown, i: number): JsonPatchOperation {
  if (!isElement(operation)) throw malformed(i, 'an operation is an object')
  const { op, value } = operation
  if (!isOp(op)) throw malformed(i, `its op is one of ${OPS.join(', ')}`, 'op')
  const hasValue = op === 'add' || op === 'replace' || op === 'test'
  if (hasValue && !('value' in operation)) throw malformed(i, 'it has no value', 'value')
  const path = pointerOf(operation, 'path', i)
  if (hasValue) return { op, path, value }
  return op === 'remove' ? { op, path } : { op, path, from: pointerOf(operation, 'from', i) }
}

const OPS = ['add', 'remove', 'replace', 'move', 'copy', 'test'] as const
const isOp = (op: unknown): op is JsonPatchOperation['op'] => OPS.some((name) => name === op)

function pointerOf(operation: Element, name: 'path' | 'from', i: number): string {
  const pointer = operation[name]
  if (!isPointer(pointer)) throw malformed(i, `its ${name} is not a JSON Pointer`, name)
  return pointer
}

/**
 * Applies the operations to `resource`, which it changes, and returns the result. Throws FhirError 422 if an operation does not apply or
 * nests elements too deep. Throws TooCostly if the added values exceed the work budget.
 */
export function applyJsonPatch(resource: Resource, operations: readonly JsonPatchOperation[], work: WorkBudget): unknown {
  let tree: unknown = resource
  operations.forEach((operation, i) => {
    tree = apply(tree, operation, i, work)
  })
  return tree
}

function apply(tree: unknown, operation: JsonPatchOperation, i: number, work: WorkBudget): unknown {
  if (operation.op === 'test') {
    checkTest(tree, operation, i)
    return tree
  }
  const placed = placing(tree, operation, i, work)
  try {
    return jsonpatch.applyOperation(tree, placed as Operation, true).newDocument
  } catch (error) {
    throw refusal(error, i, operation.path)
  }
}

/**
 * Checks the pointers of an operation, and returns it with a copy of the value that it places. Later operations may change that value, and
 * after a concurrent write the patch is applied again. A `copy` becomes an `add`, as the RFC defines it.
 * https://www.rfc-editor.org/rfc/rfc6902#section-4.5
 */
function placing(tree: unknown, operation: JsonPatchOperation, i: number, work: WorkBudget): JsonPatchOperation {
  const { op, path } = operation
  const levels = MAX_JSON_DEPTH + 1 - path.split('/').length
  if (op === 'remove' || op === 'replace') valueAt(tree, path, i, 'path')
  if (op === 'add' || op === 'replace') return { ...operation, value: copyBounded(operation.value, levels, work) }
  if (op === 'copy') return { op: 'add', path, value: copyBounded(valueAt(tree, operation.from, i, 'from'), levels, work) }
  if (op === 'move') checkDepth(valueAt(tree, operation.from, i, 'from'), levels)
  return operation
}

/** Throws FhirError 422 if the test fails. RFC 6902 compares numbers by value, so 1.10 equals 1.1 although decimals keep their text. */
function checkTest(tree: unknown, { path, value }: { readonly path: string; readonly value: unknown }, i: number): void {
  if (!sameValue(valueAt(tree, path, i, 'path'), value))
    throw fhirError(422, 'processing', `The test of operation ${i} does not hold${at(path)}`, `[${i}].path`)
}

/**
 * Returns the value at a JSON Pointer. Throws FhirError 422 if there is none. `name`: member of the operation that holds the pointer, for
 * the error. https://www.rfc-editor.org/rfc/rfc6901
 */
function valueAt(tree: unknown, pointer: string, i: number, name: 'path' | 'from'): unknown {
  let node = tree
  for (const step of pointer.split('/').slice(1)) {
    const member = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (!has(node, member)) throw leadsNowhere(i, pointer, name)
    node = node[member]
  }
  return node
}

/** Whether the tree itself has the member. Inherited members such as `toString`, and the `length` of a list, do not count. */
const has = (tree: unknown, member: string): tree is Readonly<Record<string, unknown>> =>
  (isElement(tree) || (Array.isArray(tree) && INDEX.test(member))) && Object.hasOwn(tree, member)

/** Array index in a JSON Pointer. https://www.rfc-editor.org/rfc/rfc6901#section-4 */
const INDEX = /^(?:0|[1-9]\d*)$/

const isPointer = (text: unknown): text is string => typeof text === 'string' && (text === '' || text.startsWith('/'))

function sameValue(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => sameValue(item, b[i]))
  if (isElement(a) && isElement(b)) {
    const keys = Object.keys(a)
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameValue(a[key], b[key]))
  }
  if (isNumber(a) && isNumber(b)) return Number(decimalTextOf(a)) === Number(decimalTextOf(b))
  return a === b
}

const isNumber = (value: unknown): value is string | number => typeof value === 'number' || isDecimal(value)

/** Creates the error for a malformed operation. `member`: invalid member of the operation. */
const malformed = (i: number, reason: string, member?: string): FhirError =>
  fhirError(400, 'structure', `Operation ${i} of the patch is malformed: ${reason}`, member === undefined ? `[${i}]` : `[${i}].${member}`)

const DOES_NOT_APPLY = new Set([
  'OPERATION_PATH_UNRESOLVABLE',
  'OPERATION_FROM_UNRESOLVABLE',
  'OPERATION_PATH_CANNOT_ADD',
  'OPERATION_VALUE_OUT_OF_BOUNDS',
  'OPERATION_PATH_ILLEGAL_ARRAY_INDEX',
])

function refusal(error: unknown, i: number, pointer: string): FhirError {
  const { name } = error as Error
  return DOES_NOT_APPLY.has(name) || name === 'TypeError' ? leadsNowhere(i, pointer, 'path') : malformed(i, 'see RFC 6902')
}

const leadsNowhere = (i: number, pointer: string, member: 'path' | 'from'): FhirError =>
  fhirError(422, 'processing', `Operation ${i} of the patch does not apply: its ${member} leads nowhere${at(pointer)}`, `[${i}].${member}`)

/**
 * Returns ` (POINTER)` for a message if the pointer consists of element names and indexes. Returns an empty text for any other pointer,
 * which may hold clinical content.
 */
const at = (pointer: string): string => (/^(?:\/(?:\w{1,64}|-)){1,30}$/.test(pointer) ? ` (${pointer})` : '')
