/** JSON Patch on a resource, by fast-json-patch. https://www.rfc-editor.org/rfc/rfc6902 */
import jsonpatch, { type Operation } from 'fast-json-patch'
import { decimalText, isDecimal } from './json.ts'
import { type FhirError, fhirError } from './outcome.ts'
import { isElement, type Resource } from './resource.ts'

/** A new tree. FhirError 400 for a malformed operation, 422 for one that does not apply, each naming the operation. */
export function jsonPatch(resource: Resource, operations: readonly unknown[]): unknown {
  let tree: unknown = structuredClone(resource)
  operations.forEach((operation, i) => {
    tree = apply(tree, operation, i)
  })
  return tree
}

function apply(tree: unknown, operation: unknown, i: number): unknown {
  if (!isElement(operation)) throw malformed(i, 'an operation is an object')
  if (operation.op === 'test' && 'value' in operation) {
    checkTest(tree, operation, i)
    return tree
  }
  try {
    return jsonpatch.applyOperation(tree, operation as unknown as Operation, true).newDocument
  } catch (thrown) {
    throw refusal(thrown, i)
  }
}

/** As RFC 6902 says, except that 1.10 equals 1.1: numbers are compared by value. */
function checkTest(tree: unknown, { path, value }: { readonly path?: unknown; readonly value?: unknown }, i: number): void {
  if (typeof path !== 'string' || (path !== '' && !path.startsWith('/'))) throw malformed(i, 'its path is not a JSON Pointer')
  let there: unknown
  try {
    there = jsonpatch.getValueByPointer(tree, path)
  } catch (thrown) {
    throw refusal(thrown, i)
  }
  if (!sameValue(there, value)) throw fhirError(422, 'processing', `The test of operation ${i} does not hold`, `[${i}]`)
}

function sameValue(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => sameValue(item, b[i]))
  if (isElement(a) && isElement(b)) {
    const keys = Object.keys(a)
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameValue(a[key], b[key]))
  }
  if (isNumber(a) && isNumber(b)) return Number(decimalText(a)) === Number(decimalText(b))
  return a === b
}

const isNumber = (value: unknown): value is string | number => typeof value === 'number' || isDecimal(value)

const malformed = (i: number, why: string): FhirError =>
  fhirError(400, 'structure', `Operation ${i} of the patch is malformed: ${why}`, `[${i}]`)

const DOES_NOT_APPLY = new Set([
  'OPERATION_PATH_UNRESOLVABLE',
  'OPERATION_FROM_UNRESOLVABLE',
  'OPERATION_PATH_CANNOT_ADD',
  'OPERATION_VALUE_OUT_OF_BOUNDS',
  'OPERATION_PATH_ILLEGAL_ARRAY_INDEX',
])

function refusal(thrown: unknown, i: number): FhirError {
  const name = (thrown as { readonly name?: string }).name ?? ''
  return DOES_NOT_APPLY.has(name) || name === 'TypeError'
    ? fhirError(422, 'processing', `Operation ${i} of the patch does not apply: its path leads nowhere`, `[${i}]`)
    : malformed(i, 'see RFC 6902')
}
