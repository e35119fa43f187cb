/** Media types a client asks for or sends. https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1, https://hl7.org/fhir/R4/http.html#mime-type */

const JSON_TYPES = new Set(['application/fhir+json', 'application/json', 'text/json', 'application/json+fhir'])

export const isJsonType = (mediaType: string): boolean => JSON_TYPES.has(mediaType)

/** `application/fhir+json; charset=utf-8` → type and parameters, in lower case. */
export function mediaTypeOf(header: string): { readonly type: string; readonly parameters: ReadonlyMap<string, string> } {
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

/** The types of an Accept header the client takes, best first. */
export const acceptedTypes = (accept: string): readonly string[] =>
  accept
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const { type, parameters } = mediaTypeOf(part)
      const quality = Number(parameters.get('q') ?? 1)
      return { type, quality: Number.isNaN(quality) ? 0 : quality }
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ type }) => type)

export const takesJson = (types: readonly string[]): boolean =>
  types.some((type) => isJsonType(type) || type === '*/*' || type === 'application/*')
