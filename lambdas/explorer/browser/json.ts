/** JSON with the numbers as they were written. `1.50` stays `1.50`, and long decimals keep every digit. */

/** Number that JavaScript would write in another way, such as `1.50`. */
export class Decimal {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

export type Json = null | boolean | number | string | Decimal | readonly Json[] | Tree
export type Tree = { readonly [name: string]: Json | undefined }

type Reviver = (name: string, value: unknown, context?: { readonly source?: string }) => unknown

/** Parses JSON. Throws SyntaxError. Browsers without source texts lose trailing zeros: https://tc39.es/proposal-json-parse-with-source/ */
export const parseJson = (text: string): Json =>
  JSON.parse(text, ((_, value, context) => {
    const { source } = context ?? {}
    return typeof value === 'number' && source !== undefined && String(value) !== source ? new Decimal(source) : value
  }) as Reviver)

export const isTree = (value: Json | undefined): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Decimal)

/** Returns the value as a list: the items of an array, a single value, or nothing for an absent value. */
export const listOf = (value: Json | undefined): readonly Json[] => {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? (value as readonly Json[]) : [value as Json]
}

/** Returns the trees among the values of an element. */
export const treesOf = (value: Json | undefined): readonly Tree[] => listOf(value).filter(isTree)

/** Returns the value as text if it is a primitive, otherwise undefined. */
export const textOf = (value: Json | undefined): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value instanceof Decimal
    ? String(value)
    : undefined
