/** Returns a handler for `catch`. It replaces the named errors by undefined and throws every other error again. */
export const ignoreErrorsNamed =
  (...names: readonly string[]) =>
  (error: Error): undefined => {
    if (!names.includes(error.name)) throw error
    return undefined
  }
