/** Media types a client asks for or sends. https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1, https://hl7.org/fhir/R4/http.html#mime-type */
import { type MediaRange, qualityOf } from '../fhir/media-range.ts'

const OWN = 'application/fhir+json'
const JSON_TYPES = new Set([OWN, 'application/json', 'text/json', 'application/json+fhir'])

export const isJsonType = (mediaType: string): boolean => JSON_TYPES.has(mediaType)

/** FHIR's versions by which the server may be asked: as the parameter has them, and as CapabilityStatement.fhirVersion. */
const VERSIONS: ReadonlySet<string> = new Set(['4.0', '4.0.1'])

/** Whether it is of the FHIR that is spoken here, or does not say. https://hl7.org/fhir/R4/http.html#version-parameter */
export const isSupportedFhirVersion = ({ type, parameters }: MediaType): boolean =>
  !isJsonType(type) || VERSIONS.has(parameters.get('fhirversion') || '4.0')

/** True for text in UTF-8: a gateway that decodes bodies does not change it. */
export const isUtf8Type = ({ type, parameters }: MediaType): boolean =>
  /^text\/|[/+](?:(?:nd)?json|xml)$/.test(type) && ['utf-8', 'utf8', 'us-ascii'].includes(parameters.get('charset') ?? 'utf-8')

export type MediaType = { readonly type: string; readonly parameters: ReadonlyMap<string, string> }

/** `application/fhir+json; charset=utf-8` → type and parameters, in lower case. */
export function mediaTypeOf(header: string): MediaType {
  const [type = '', ...rest] = header.split(';').map((part) => part.trim())
  const parameters = rest.flatMap((part) => {
    const [name = '', value] = part.split('=', 2)
    return value === undefined
      ? []
      : [
          [
            name.trim().toLowerCase(),
            value
              .trim()
              .replace(/^"(.*)"$/, '$1')
              .toLowerCase(),
          ] as const,
        ]
  })
  return { type: type.toLowerCase(), parameters: new Map(parameters) }
}

/** What an Accept header names, but for what is of another FHIR. What is no quality is none. */
export const mediaRangesOf = (accept: string): readonly MediaRange[] =>
  accept
    .split(',')
    .filter((part) => part.trim() !== '')
    .map(mediaTypeOf)
    .filter(isSupportedFhirVersion)
    .map(({ type, parameters }) => {
      const quality = Number(parameters.get('q') ?? 1)
      return { type, quality: quality >= 0 && quality <= 1 ? quality : 0 }
    })

/** The answer's own type, or where nothing is said of that by its name, another name for it. */
export const acceptsJson = (ranges: readonly MediaRange[]): boolean =>
  qualityOf(ranges, OWN) > 0 ||
  (!ranges.some(({ type }) => type === OWN) && ranges.some(({ type, quality }) => isJsonType(type) && quality > 0))
