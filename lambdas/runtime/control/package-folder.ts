/** In a data folder: the packages that were added to a server's own. */
export const PACKAGES_FOLDER = 'packages'
