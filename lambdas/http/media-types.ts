/**
 * Parses media types and Accept headers. https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1, https://hl7.org/fhir/R4/http.html#mime-type
 */
import { type MediaRange, qualityOf } from '../fhir/media-range.ts'

const OWN = 'application/fhir+json'
const JSON_TYPES = new Set([OWN, 'application/json', 'text/json', 'application/json+fhir'])

export const isJsonType = (mediaType: string): boolean => JSON_TYPES.has(mediaType)

/**
 * Accepted values of the media type parameter `fhirVersion`: 4.0 as FHIR defines it, and 4.0.1 as CapabilityStatement.fhirVersion has it.
 */
const VERSIONS: ReadonlySet<string> = new Set(['4.0', '4.0.1'])

/**
 * Whether the media type names FHIR R4 or no FHIR version. True for types other than JSON.
 * https://hl7.org/fhir/R4/http.html#version-parameter
 */
export const isSupportedFhirVersion = ({ type, parameters }: MediaType): boolean =>
  !isJsonType(type) || VERSIONS.has(parameters.get('fhirversion') || '4.0')

/** Whether content of this media type is text in UTF-8. A gateway that passes bodies as text does not change it. */
export const isUtf8Type = ({ type, parameters }: MediaType): boolean =>
  /^text\/|[/+](?:(?:nd)?json|xml)$/.test(type) && ['utf-8', 'utf8', 'us-ascii'].includes(parameters.get('charset') ?? 'utf-8')

export type MediaType = { readonly type: string; readonly parameters: ReadonlyMap<string, string> }

/** Parses a media type such as `application/fhir+json; charset=utf-8` into its type and parameters, all in lower case. */
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

/** Returns the media ranges of an Accept header, without those of other FHIR versions. An invalid quality counts as 0. */
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

/** Whether the ranges accept FHIR JSON. Other JSON types are accepted too, unless a range names `application/fhir+json`. */
export const acceptsJson = (ranges: readonly MediaRange[]): boolean =>
  qualityOf(ranges, OWN) > 0 ||
  (!ranges.some(({ type }) => type === OWN) && ranges.some(({ type, quality }) => isJsonType(type) && quality > 0))
