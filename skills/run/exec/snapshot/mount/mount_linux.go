package mount

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrMoved is returned where another folder is at the root's path than when the layer
// was opened.
var ErrMoved = errors.New("the root isn't the folder that it was")

// ErrUpper is returned with EINVAL where the file system of the layer can't hold one.
var ErrUpper = errors.New("the state folder's file system can't hold an upper layer; put the state on a volume")

// Detach returns the overlay over r as a mount that is attached nowhere yet, as
// open_tree would give it. The caller attaches it with move_mount and closes it. The
// calling thread's working folder is / afterwards. Errors wrap the errno.
func Detach(r Root) (fd int, err error) {
	defer func() {
		if e := unix.Chdir("/"); e != nil && err == nil {
			_ = unix.Close(fd)
			fd, err = -1, fmt.Errorf("leave the layer: %w", e)
		}
	}()
	if err := bindLower(r); err != nil {
		return -1, err
	}
	// Relative paths have no length limit and no separators to escape. The program can't read
	// the layer's place from them in /proc/self/mountinfo.
	return makeOverlay([][2]string{{"source", "vedette"}, {"lowerdir", Lower}, {"upperdir", Upper}, {"workdir", Work}, {"index", "off"}})
}

// bindLower goes to the layer's folder and binds the root below it. It binds the folder that
// was checked, and not by its name.
func bindLower(r Root) error {
	root, err := unix.Open(r.Path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the root: %w", err)
	}
	defer func() { _ = unix.Close(root) }()
	var st unix.Stat_t
	if err := unix.Fstat(root, &st); err != nil {
		return fmt.Errorf("look at the root: %w", err)
	}
	if st.Dev != r.Dev || st.Ino != r.Ino {
		return ErrMoved
	}
	if err := unix.Chdir(r.Folder); err != nil {
		return fmt.Errorf("go to the layer: %w", err)
	}
	tree, err := unix.OpenTree(root, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("copy the root's mount: %w", err)
	}
	defer func() { _ = unix.Close(tree) }()
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, Lower, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("bind the root: %w", err)
	}
	return nil
}

// makeOverlay mounts an overlay with attributes that an ordinary user may write.
func makeOverlay(options [][2]string) (int, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open an overlay: %w", err)
	}
	defer func() { _ = unix.Close(fs) }()
	for _, o := range options {
		if err := unix.FsconfigSetString(fs, o[0], o[1]); err != nil {
			return -1, fmt.Errorf("set %s of the overlay: %w", o[0], explainUpper(o[0], err))
		}
	}
	if err := unix.FsconfigSetFlag(fs, "userxattr"); err != nil {
		return -1, fmt.Errorf("set userxattr of the overlay: %w", err)
	}
	// Without volatile the kernel flushes the layer's whole file system when the program ends,
	// which takes seconds. A commit makes what it needs durable itself. A kernel before 5.10
	// doesn't know it, and is slower.
	_ = unix.FsconfigSetFlag(fs, "volatile")
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("make the overlay: %w", explainUpper("upperdir", err))
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return -1, fmt.Errorf("mount the overlay: %w", err)
	}
	return mount, nil
}

func explainUpper(option string, err error) error {
	if option == "upperdir" && errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: %w", ErrUpper, err)
	}
	return err
}
