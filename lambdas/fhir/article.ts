/** Returns a name of FHIR after its article: "a Patient", "an Observation". Those that begin with U are spoken as "you". */
export const withArticle = (name: string): string => `${/^[AEIO]/i.test(name) ? 'an' : 'a'} ${name}`
