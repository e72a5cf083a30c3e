//! The box's project after a `project/replace`.

use rusqlite::Connection;

/// Goes over to the project that the box's own was replaced by. The call's own transaction has written that down,
/// with what it carried over, so whoever opens the file after a crash finishes the replacement. A project that
/// was retired towards another box has nothing of the other id here, and stays.
pub(super) fn follow(conn: &Connection) -> rusqlite::Result<()> {
    let sql = "UPDATE box SET project = (SELECT retired_to FROM projects WHERE project = box.project) \
         WHERE EXISTS (SELECT 1 FROM projects AS old JOIN projects AS new ON new.project = old.retired_to \
         WHERE old.project = box.project)";
    // A replacement was fresh, so that no chain leads back.
    while conn.execute(sql, [])? > 0 {}
    Ok(())
}
