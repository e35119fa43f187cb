/** For what is no failure, by its name: undefined in its place. Any other goes on. */
export const ignoreErrorsNamed =
  (...names: readonly string[]) =>
  (error: Error): undefined => {
    if (!names.includes(error.name)) throw error
    return undefined
  }
