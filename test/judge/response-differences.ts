/** Where HAPI's validator finds errors in answers that are as R4, or SMART, says. */

export type ResponseDifference = {
  /** Of the request. */
  readonly title: RegExp
  readonly verdict: RegExp
  readonly passage: string
  readonly source: string
}

export const RESPONSE_DIFFERENCES: readonly ResponseDifference[] = [
  {
    title: /metadata|^POST \/$/,
    verdict: /^Extension_EXT_SubExtension_Invalid .*'(?:introspect|revoke)' is not defined by the Extension .*oauth-uris/,
    passage: 'oauth-uris has authorize, token, register, manage, introspect and revoke. HAPI knows its first version.',
    source: 'https://hl7.org/fhir/smart-app-launch/STU2.1/StructureDefinition-oauth-uris.html',
  },
  {
    title: /metadata|^POST \/$/,
    verdict: /^ERROR_GENERATING_SNAPSHOT .*StructureDefinition\/search-.*Unable to resolve package id hl7\.fhir\.r4\.core#null/,
    passage:
      'A StructureDefinition has a snapshot or a differential. HAPI makes a snapshot of the contained one, and offline finds no package to make it from.',
    source: 'https://hl7.org/fhir/R4/structuredefinition.html#snapshot',
  },
  {
    title: /_type=Patient,Organization/,
    verdict: /^BUNDLE_SEARCH_ENTRY_WRONG_RESOURCE_TYPE_MODE /,
    passage: 'A comma may be sent as %2C. HAPI does not decode it in the self link.',
    source: 'https://www.rfc-editor.org/rfc/rfc3986#section-2.1',
  },
  {
    title: /_summary=text|_elements=/,
    verdict: /^[A-Za-z]+#(?:ait-1|app-3|cpb-1|cpb-2|cpb-14|cpb-15|org-1|ppc-1) /,
    passage:
      'A rule asks for elements that need not be there, and were not asked for: "Return only the text element, the id element, the meta element, and only top-level mandatory elements"; the part is tagged SUBSETTED.',
    source: 'https://hl7.org/fhir/R4/search.html#summary',
  },
  {
    title: /_elements=contained$/,
    verdict: /^CONTAINED_ORPHAN_DOM3 /,
    passage: 'Only the elements that were asked for are returned: what refers to the contained resource was not.',
    source: 'https://hl7.org/fhir/R4/search.html#elements',
  },
]
