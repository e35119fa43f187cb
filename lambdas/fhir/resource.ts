/**
 * Object in the tree of a FHIR resource, as json.ts parses it: a resource, an element or a data type. https://hl7.org/fhir/R4/resource.html
 */

export type Element = { readonly [name: string]: unknown }

export type Meta = Element & { readonly versionId?: string; readonly lastUpdated?: string; readonly profile?: readonly string[] }

export type Resource = Element & { readonly resourceType: string; readonly id?: string; readonly meta?: Meta }

/**
 * Whether a text is a resource id that a URL path can contain. `.` and `..` are excluded, because a URL path resolves them to other
 * segments.
 */
export const isId = (text: string): boolean => isIdText(text) && text !== '.' && text !== '..'

/** Whether a text has the format of an id. https://hl7.org/fhir/R4/datatypes.html#id. A pattern that counts to 64 takes twice as long. */
export const isIdText = (text: string): boolean => text.length <= 64 && ID.test(text)

const ID = /^[A-Za-z0-9\-.]+$/

export const isElement = (value: unknown): value is Element => typeof value === 'object' && value !== null && !Array.isArray(value)

export const isResource = (value: unknown): value is Resource => isElement(value) && typeof value.resourceType === 'string'
