/** A search parameter of one's own. */
export const NICKNAME_PARAMETER = {
  resourceType: 'SearchParameter',
  id: 'nickname',
  url: 'http://example.org/nickname',
  name: 'nickname',
  status: 'active',
  description: 'x',
  code: 'nickname',
  base: ['Patient'],
  type: 'string',
  expression: "Patient.name.where(use = 'nickname').given",
}
