/** Where the session keeps the query and the order of the list that was last looked at. */
export const lastListKey = "studio.list";
