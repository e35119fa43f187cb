/** Returns the name of a FHIR type with its article: "a Patient", "an Observation". Names with U get "a", because most sound like "you". */
export const withArticle = (name: string): string => `${/^[AEIO]/i.test(name) ? 'an' : 'a'} ${name}`
