/** Checks whether an R4 server supports a definition of a package. https://hl7.org/fhir/R4/structuredefinition.html */
import { R4 } from '../../definitions/r4.ts'
import type { Resource } from '../../resource.ts'

const R4_VERSION = /^4\.0(?:\.|$)/
const PRIMITIVE =
  /^(?:base64Binary|boolean|canonical|code|date|dateTime|decimal|id|instant|integer|markdown|oid|positiveInt|string|time|unsignedInt|uri|url|uuid|xhtml)$/

/** Whether a version of FHIR is R4: 4.0 with any patch number. `fhirVersion`: as packages and definitions write it, such as `4.0.1`. */
export const isR4Version = (fhirVersion: string): boolean => R4_VERSION.test(fhirVersion)

export const isTypeOfR4 = (type: string): boolean => Object.hasOwn(R4.shapes, type) || PRIMITIVE.test(type)

/** Returns the reason why a definition is not supported, or undefined if it is supported. */
export function unsupportedReasonOf({ resourceType, url, kind, type, derivation, fhirVersion }: Resource): string | undefined {
  if (resourceType !== 'StructureDefinition') return undefined
  if (kind === 'logical') return 'It is a logical model, which no resource is checked against'
  if (typeof fhirVersion === 'string' && !isR4Version(fhirVersion)) return `It is of FHIR ${fhirVersion.slice(0, MAX_CHARACTERS)}`
  if (derivation !== 'constraint' || isTypeDefinition(url)) return "It defines a type, and those are R4's"
  if (typeof type !== 'string' || !isTypeOfR4(type)) return `R4 has no type ${String(type).slice(0, MAX_CHARACTERS)}`
  return undefined
}

/** Maximum characters of a text of the definition that a reason quotes. Longer texts are cut. */
const MAX_CHARACTERS = 60
const BASE = 'http://hl7.org/fhir/StructureDefinition/'

const isTypeDefinition = (url: unknown): boolean => typeof url === 'string' && r4TypeOfUrl(url) !== undefined

/** Returns the type that R4 defines under a URL, or undefined. `Resource` and `DomainResource` are included. */
export function r4TypeOfUrl(url: string): string | undefined {
  const type = url.slice(BASE.length)
  return url.startsWith(BASE) && (isTypeOfR4(type) || ABSTRACT.has(type)) ? type : undefined
}

const ABSTRACT: ReadonlySet<string> = new Set(['Resource', 'DomainResource'])
